// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Attributes of the graph dialect.

#ifndef CLEAVE_DIALECT_GRAPH_IR_GRAPHATTRIBUTES_TD
#define CLEAVE_DIALECT_GRAPH_IR_GRAPHATTRIBUTES_TD

include "cleave/Dialect/Graph/IR/GraphDialect.td"
include "cleave/Dialect/Graph/IR/GraphEnums.td"
include "mlir/IR/AttrTypeBase.td"

def Graph_CompareDirectionAttr
    : EnumAttr<Graph_Dialect, Graph_CompareDirection, "compare_direction">;
def Graph_ReduceKindAttr : EnumAttr<Graph_Dialect, Graph_ReduceKind, "reduce_kind">;
def Graph_GeluApproximationAttr
    : EnumAttr<Graph_Dialect, Graph_GeluApproximation, "gelu_approximation">;
def Graph_RandomDistributionAttr
    : EnumAttr<Graph_Dialect, Graph_RandomDistribution, "random_distribution">;

def Graph_RopeScalingAttr : AttrDef<Graph_Dialect, "RopeScaling"> {
  let mnemonic = "rope_scaling";
  let summary = "scaling of rotary frequencies";
  let description = [{
    `linear` divides every frequency by `factor` (which is the same as dividing positions). `llama3`
    keeps frequencies whose wavelength is below original_max_position / high_freq_factor, divides
    those whose wavelength is above original_max_position / low_freq_factor by `factor`, and
    interpolates in between.

    ```mlir
    #graph.rope_scaling<linear, factor = 2.0>
    #graph.rope_scaling<llama3, factor = 8.0, low_freq_factor = 1.0, high_freq_factor = 4.0,
                        original_max_position = 8192>
    ```
  }];
  let parameters = (ins
      EnumParameter<Graph_RopeScalingKind>:$kind,
      APFloatParameter<"divisor of frequencies">:$factor,
      APFloatParameter<"llama3 only, else 0">:$low_freq_factor,
      APFloatParameter<"llama3 only, else 0">:$high_freq_factor,
      AttrParameter<"int64_t", "llama3 only, else 0">:$original_max_position);
  let builders = [
    AttrBuilder<(ins "double":$factor), [{
      ::llvm::APFloat zero(0.0);
      return $_get($_ctxt, RopeScalingKind::Linear, ::llvm::APFloat(factor), zero, zero, int64_t(0));
    }]>,
    AttrBuilder<(ins "double":$factor, "double":$lowFreqFactor, "double":$highFreqFactor,
                     "int64_t":$originalMaxPosition), [{
      return $_get($_ctxt, RopeScalingKind::Llama3, ::llvm::APFloat(factor),
                   ::llvm::APFloat(lowFreqFactor), ::llvm::APFloat(highFreqFactor),
                   originalMaxPosition);
    }]>,
  ];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Graph_DropoutAttr : AttrDef<Graph_Dialect, "Dropout"> {
  let mnemonic = "dropout";
  let summary = "which elements are dropped";
  let description = [{
    Whether the element at a *position* is dropped depends on the seed, the step, `site` and the
    position n alone. Philox4x32-10 with the seed's low and high 32 bits as key turns the counter
    (low, high 32 bits of c, `site`, low 32 bits of the step), c = 16 floor(n / 64) + n mod 16, into
    four words; the element is dropped if word floor(n / 16) mod 4 is below `rate` * 2^32, rounded.
    What is kept is divided by 1 - `rate`. 64 neighbours take 16 counters, so that vectors of up to
    16 lanes waste nothing.

    The element [i, j, ..] stands at position `start` + i * strides[0] + j * strides[1] + ..; without
    strides positions are as the op says. A device's part, and a microbatch's, has the start and the
    strides of the whole batch: masks are the same under every mesh.

    ```mlir
    #graph.dropout<rate = 1.000000e-01, site = 7>
    #graph.dropout<rate = 1.000000e-01, site = 7, start = 512, strides = [1024, 64, 1]>
    ```
  }];
  let parameters = (ins
      APFloatParameter<"chance to be dropped, in [0, 1)">:$rate,
      AttrParameter<"int64_t", "number of the place in the program, of 32 bits">:$site,
      AttrParameter<"int64_t", "position of the first element">:$start,
      ArrayRefParameter<"int64_t", "empty: as the op says">:$strides);
  let builders = [AttrBuilder<(ins "double":$rate, "int64_t":$site), [{
    return $_get($_ctxt, ::llvm::APFloat(rate), site, int64_t(0), ::llvm::ArrayRef<int64_t>{});
  }]>];
  let extraClassDeclaration = [{
    /// Words below it are dropped.
    uint32_t getThreshold() const;
    /// What is kept is multiplied by it.
    double getScale() const;
    /// The same choices at other positions.
    DropoutAttr withPositions(int64_t start, ::llvm::ArrayRef<int64_t> strides) const;
  }];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

#endif // CLEAVE_DIALECT_GRAPH_IR_GRAPHATTRIBUTES_TD
