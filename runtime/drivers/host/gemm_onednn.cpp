// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "drivers/host/gemm_plans.h"
#include "drivers/host/onednn_thread.h"
#include <algorithm>
#include <dnnl.hpp>
#include <oneapi/dnnl/dnnl_debug.h>
#include <vector>

namespace cleave::host {
namespace {

using dnnl::memory;

absl::Status failed(dnnl_status_t status) {
  return absl::InternalError(
      absl::StrCat("gemm: oneDNN refuses a product (", dnnl_status2str(status), ")"));
}

const dnnl::engine &cpuEngine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

memory::data_type typeOf(fb::DType dtype) {
  return dtype == fb::DType::F32 ? memory::data_type::f32 : memory::data_type::bf16;
}

class SgemmPlan : public GemmPlan {
public:
  explicit SgemmPlan(const Product &product) : product_(product) { method_ = "sgemm"; }

private:
  absl::Status execute(const void *a, const void *b, void *c, void *) const override {
    const Product &p = product_;
    for (int64_t i = 0; i < p.batch; ++i) {
      absl::Status status =
          sgemm(!p.a.rowMajor(), !p.b.rowMajor(), p.m, p.n, p.k,
                static_cast<const float *>(a) + p.aOffset(i), p.a.leading(),
                static_cast<const float *>(b) + p.bOffset(i), p.b.leading(), p.accumulate,
                static_cast<float *>(c) + p.cOffset(i), p.c.leading());
      if (!status.ok())
        return status;
    }
    return absl::OkStatus();
  }
  Product product_;
};

class MatmulPlan : public GemmPlan {
public:
  /// May throw dnnl::error.
  MatmulPlan(const Product &product, bool batchLoop) : product_(product) {
    int64_t batch = batchLoop ? 1 : product.batch;
    loops_ = product.batch / batch;
    auto desc = [&](const MatrixStrides &x, int64_t rows, int64_t columns, fb::DType dtype) {
      if (batch == 1)
        return memory::desc({rows, columns}, typeOf(dtype), memory::dims{x.row, x.column});
      // A shared matrix is a batch of 1, which oneDNN broadcasts.
      return memory::desc(
          {x.batch == 0 ? 1 : batch, rows, columns}, typeOf(dtype),
          memory::dims{x.batch == 0 ? std::max(rows * x.row, columns * x.column) : x.batch, x.row,
                       x.column});
    };
    a_ = desc(product.a, product.m, product.k, product.dtypeAB);
    b_ = desc(product.b, product.k, product.n, product.dtypeAB);
    c_ = desc(product.c, product.m, product.n, product.dtypeC);
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    if (product.accumulate) {
      dnnl::post_ops operations;
      operations.append_sum(1.0f);
      attributes.set_post_ops(operations);
    }
    dnnl::matmul::primitive_desc desc3({a_, b_, c_}, attributes, cpuEngine());
    implementation_ = desc3.impl_info_str();
    method_ = absl::StrCat("matmul ", implementation_);
    scratch_ = desc3.scratchpad_desc();
    scratchBytes_ = scratch_.get_size();
    primitive_ = dnnl::matmul(desc3);
  }

  const std::string &implementation() const { return implementation_; }

private:
  /// What one run binds to memory. Runs at the same time use different ones; they are kept, so that
  /// runs do not make new ones.
  struct Arguments {
    dnnl::stream stream;
    memory a, b, c, scratch;
    explicit Arguments(const MatmulPlan &plan)
        : stream(cpuEngine()), a(plan.a_, cpuEngine(), DNNL_MEMORY_NONE),
          b(plan.b_, cpuEngine(), DNNL_MEMORY_NONE), c(plan.c_, cpuEngine(), DNNL_MEMORY_NONE),
          scratch(plan.scratch_, cpuEngine(), DNNL_MEMORY_NONE) {}
  };

  absl::Status execute(const void *a, const void *b, void *c, void *scratch) const override {
    OneThread oneThread;
    std::unique_ptr<Arguments> arguments;
    {
      std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        arguments = std::move(idle_.back());
        idle_.pop_back();
      }
    }
    dnnl_status_t status = dnnl_success;
    try {
      if (!arguments)
        arguments = std::make_unique<Arguments>(*this);
      for (int64_t i = 0; i < loops_ && status == dnnl_success; ++i)
        status = executeOne(*arguments, advance(a, product_.aOffset(i), product_.dtypeAB),
                            advance(b, product_.bOffset(i), product_.dtypeAB),
                            advance(c, product_.cOffset(i), product_.dtypeC), scratch);
      std::lock_guard lock(mutex_);
      idle_.push_back(std::move(arguments));
    } catch (const dnnl::error &error) {
      status = error.status;
    }
    return status == dnnl_success ? absl::OkStatus() : failed(status);
  }

  dnnl_status_t executeOne(const Arguments &arguments, const void *a, const void *b, void *c,
                           void *scratch) const {
    const std::pair<const memory &, void *> handles[] = {{arguments.a, const_cast<void *>(a)},
                                                         {arguments.b, const_cast<void *>(b)},
                                                         {arguments.c, c},
                                                         {arguments.scratch, scratch}};
    for (auto [object, handle] : handles)
      if (dnnl_status_t status = dnnl_memory_set_data_handle(object.get(), handle))
        return status;
    const dnnl_exec_arg_t list[] = {{DNNL_ARG_SRC, arguments.a.get()},
                                    {DNNL_ARG_WEIGHTS, arguments.b.get()},
                                    {DNNL_ARG_DST, arguments.c.get()},
                                    {DNNL_ARG_SCRATCHPAD, arguments.scratch.get()}};
    return dnnl_primitive_execute(primitive_.get(), arguments.stream.get(), 4, list);
  }

  Product product_;
  int64_t loops_ = 1;
  memory::desc a_, b_, c_, scratch_;
  dnnl::matmul primitive_;
  std::string implementation_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Arguments>> idle_;
};

} // namespace

absl::Status sgemm(bool aTransposed, bool bTransposed, int64_t m, int64_t n, int64_t k,
                   const float *a, int64_t lda, const float *b, int64_t ldb, bool accumulate,
                   float *c, int64_t ldc) {
  OneThread oneThread;
  dnnl_status_t status = dnnl_sgemm(aTransposed ? 'T' : 'N', bTransposed ? 'T' : 'N', m, n, k, 1.0f,
                                    a, lda, b, ldb, accumulate ? 1.0f : 0.0f, c, ldc);
  return status == dnnl_success ? absl::OkStatus() : failed(status);
}

GemmPlanPtr planSgemm(const Product &product) { return std::make_unique<SgemmPlan>(product); }

GemmPlanPtr planMatmul(const Product &product, bool batchLoop) {
  OneThread oneThread;
  try {
    auto plan = std::make_unique<MatmulPlan>(product, batchLoop);
    // The plain gemm inside the primitive is better called directly, where there is one to call.
    bool compiled = plan->implementation().starts_with("brg") ||
                    (product.dtypeAB == fb::DType::BF16 && plan->implementation() == "gemm:jit");
    return compiled ? std::move(plan) : nullptr;
  } catch (const dnnl::error &) {
    return nullptr; // not supported: another method does it
  }
}

bool multipliesBf16() {
  switch (dnnl_get_effective_cpu_isa()) {
  case dnnl_cpu_isa_avx512_core_bf16:
  case dnnl_cpu_isa_avx512_core_amx:
    return true;
  default:
    return false;
  }
}

} // namespace cleave::host
