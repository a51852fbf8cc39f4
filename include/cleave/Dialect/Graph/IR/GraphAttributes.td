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

#endif // CLEAVE_DIALECT_GRAPH_IR_GRAPHATTRIBUTES_TD
