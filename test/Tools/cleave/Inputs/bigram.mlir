// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// A language model of bytes that is one table of logits, [previous byte, next byte], with its training
// step written out: the gradient of the mean cross-entropy by hand, clipping, AdamW.

cleave.state @table : tensor<256x256xf32> {kind = "weight", checkpoint = "table.weight", checkpoint_shape = array<i64: 256, 256>, logical = #cleave.logical<["vocab", "embed"]>}
cleave.state @table.exp_avg : tensor<256x256xf32> {kind = "optimizer", logical = #cleave.logical<["vocab", "embed"]>}
cleave.state @table.exp_avg_sq : tensor<256x256xf32> {kind = "optimizer", logical = #cleave.logical<["vocab", "embed"]>}
cleave.state @step : tensor<i64> {kind = "optimizer"}

func.func @forward(%w: tensor<256x256xf32> {cleave.state = @table},
                   %ids: tensor<6x16xi64> {cleave.input = "input_ids", cleave.logical = #cleave.logical<["batch", "seq"]>},
                   %labels: tensor<6x16xi64> {cleave.input = "labels", cleave.logical = #cleave.logical<["batch", "seq"]>})
    -> (tensor<f32> {cleave.output = "loss"}) attributes {cleave.entry} {
  %ignored = graph.constant dense<-100> : tensor<i64>
  %next = graph.slice %labels [0:6, 1:16] : tensor<6x16xi64> -> tensor<6x15xi64>
  %targets = graph.pad %next, %ignored low [0, 0] high [0, 1] interior [0, 0] : (tensor<6x15xi64>, tensor<i64>) -> tensor<6x16xi64>
  %logits = graph.embedding %ids, %w : (tensor<6x16xi64>, tensor<256x256xf32>) -> tensor<6x16x256xf32>
  %loss, %count = graph.cross_entropy %logits, %targets ignore_index = -100 : (tensor<6x16x256xf32>, tensor<6x16xi64>) -> (tensor<f32>, tensor<f32>)
  return %loss : tensor<f32>
}

func.func @train_step(%w: tensor<256x256xf32> {cleave.state = @table},
                      %m: tensor<256x256xf32> {cleave.state = @table.exp_avg},
                      %v: tensor<256x256xf32> {cleave.state = @table.exp_avg_sq},
                      %step: tensor<i64> {cleave.state = @step},
                      %ids: tensor<6x16xi64> {cleave.input = "input_ids", cleave.logical = #cleave.logical<["batch", "seq"]>},
                      %labels: tensor<6x16xi64> {cleave.input = "labels", cleave.logical = #cleave.logical<["batch", "seq"]>},
                      %learning_rate: tensor<f32> {cleave.input = "learning_rate", cleave.default = 3.0e-4 : f64},
                      %beta1: tensor<f32> {cleave.input = "beta1", cleave.default = 0.9 : f64},
                      %beta2: tensor<f32> {cleave.input = "beta2", cleave.default = 0.95 : f64},
                      %eps: tensor<f32> {cleave.input = "eps", cleave.default = 1.0e-8 : f64},
                      %weight_decay: tensor<f32> {cleave.input = "weight_decay", cleave.default = 0.1 : f64},
                      %max_grad_norm: tensor<f32> {cleave.input = "max_grad_norm", cleave.default = 1.0 : f64})
    -> (tensor<f32> {cleave.output = "loss"}, tensor<f32> {cleave.output = "grad_norm"},
        tensor<256x256xf32> {cleave.state = @table},
        tensor<256x256xf32> {cleave.state = @table.exp_avg},
        tensor<256x256xf32> {cleave.state = @table.exp_avg_sq},
        tensor<i64> {cleave.state = @step}) attributes {cleave.entry} {
  // The loss.
  %ignored = graph.constant dense<-100> : tensor<i64>
  %next = graph.slice %labels [0:6, 1:16] : tensor<6x16xi64> -> tensor<6x15xi64>
  %targets = graph.pad %next, %ignored low [0, 0] high [0, 1] interior [0, 0] : (tensor<6x15xi64>, tensor<i64>) -> tensor<6x16xi64>
  %logits = graph.embedding %ids, %w : (tensor<6x16xi64>, tensor<256x256xf32>) -> tensor<6x16x256xf32>
  %loss, %count = graph.cross_entropy %logits, %targets ignore_index = -100 : (tensor<6x16x256xf32>, tensor<6x16xi64>) -> (tensor<f32>, tensor<f32>)

  // Its gradient at the logits: (softmax - one-hot) / count where a target counts.
  %max = graph.reduce max %logits dims [2] : tensor<6x16x256xf32> -> tensor<6x16xf32>
  %max3 = graph.broadcast %max dims [0, 1] : tensor<6x16xf32> -> tensor<6x16x256xf32>
  %shifted = graph.subtract %logits, %max3 : tensor<6x16x256xf32>
  %exp = graph.exp %shifted : tensor<6x16x256xf32>
  %sum = graph.reduce sum %exp dims [2] : tensor<6x16x256xf32> -> tensor<6x16xf32>
  %sum3 = graph.broadcast %sum dims [0, 1] : tensor<6x16xf32> -> tensor<6x16x256xf32>
  %softmax = graph.divide %exp, %sum3 : tensor<6x16x256xf32>
  %bytes = graph.iota dim 2 : tensor<6x16x256xi64>
  %targets3 = graph.broadcast %targets dims [0, 1] : tensor<6x16xi64> -> tensor<6x16x256xi64>
  %hit = graph.compare eq %bytes, %targets3 : (tensor<6x16x256xi64>, tensor<6x16x256xi64>) -> tensor<6x16x256xi1>
  %hot = graph.convert %hit : tensor<6x16x256xi1> -> tensor<6x16x256xf32>
  %difference = graph.subtract %softmax, %hot : tensor<6x16x256xf32>
  %zero = graph.constant dense<0> : tensor<6x16xi64>
  %counts = graph.compare ge %targets, %zero : (tensor<6x16xi64>, tensor<6x16xi64>) -> tensor<6x16xi1>
  %mask = graph.convert %counts : tensor<6x16xi1> -> tensor<6x16xf32>
  %count2 = graph.broadcast %count dims [] : tensor<f32> -> tensor<6x16xf32>
  %share = graph.divide %mask, %count2 : tensor<6x16xf32>
  %share3 = graph.broadcast %share dims [0, 1] : tensor<6x16xf32> -> tensor<6x16x256xf32>
  %dlogits = graph.multiply %difference, %share3 : tensor<6x16x256xf32>

  // Its gradient at the table: summed over the positions that read each row.
  %ids3 = graph.broadcast %ids dims [0, 1] : tensor<6x16xi64> -> tensor<6x16x256xi64>
  %read = graph.compare eq %bytes, %ids3 : (tensor<6x16x256xi64>, tensor<6x16x256xi64>) -> tensor<6x16x256xi1>
  %reads = graph.convert %read : tensor<6x16x256xi1> -> tensor<6x16x256xf32>
  %dw = graph.dot_general %reads, %dlogits contract [0, 1] x [0, 1] : (tensor<6x16x256xf32>, tensor<6x16x256xf32>) -> tensor<256x256xf32>

  // Clipping.
  %squares = graph.multiply %dw, %dw : tensor<256x256xf32>
  %square = graph.reduce sum %squares dims [0, 1] : tensor<256x256xf32> -> tensor<f32>
  %norm = graph.sqrt %square : tensor<f32>
  %tiny = graph.constant dense<1.0e-6> : tensor<f32>
  %norm1 = graph.add %norm, %tiny : tensor<f32>
  %ratio = graph.divide %max_grad_norm, %norm1 : tensor<f32>
  %one = graph.constant dense<1.0> : tensor<f32>
  %scale1 = graph.minimum %ratio, %one : tensor<f32>
  %none = graph.constant dense<0.0> : tensor<f32>
  %clips = graph.compare gt %max_grad_norm, %none : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %scale = graph.select %clips, %scale1, %one : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
  %scales = graph.broadcast %scale dims [] : tensor<f32> -> tensor<256x256xf32>
  %g = graph.multiply %dw, %scales : tensor<256x256xf32>

  // AdamW.
  %onei = graph.constant dense<1> : tensor<i64>
  %newstep = graph.add %step, %onei : tensor<i64>
  %t = graph.convert %newstep : tensor<i64> -> tensor<f32>
  %rest1 = graph.subtract %one, %beta1 : tensor<f32>
  %rest2 = graph.subtract %one, %beta2 : tensor<f32>
  %power1 = graph.power %beta1, %t : tensor<f32>
  %power2 = graph.power %beta2, %t : tensor<f32>
  %bias1 = graph.subtract %one, %power1 : tensor<f32>
  %bias2 = graph.subtract %one, %power2 : tensor<f32>
  %b1 = graph.broadcast %beta1 dims [] : tensor<f32> -> tensor<256x256xf32>
  %b2 = graph.broadcast %beta2 dims [] : tensor<f32> -> tensor<256x256xf32>
  %r1 = graph.broadcast %rest1 dims [] : tensor<f32> -> tensor<256x256xf32>
  %r2 = graph.broadcast %rest2 dims [] : tensor<f32> -> tensor<256x256xf32>
  %mOld = graph.multiply %m, %b1 : tensor<256x256xf32>
  %mAdd = graph.multiply %g, %r1 : tensor<256x256xf32>
  %mNew = graph.add %mOld, %mAdd : tensor<256x256xf32>
  %gg = graph.multiply %g, %g : tensor<256x256xf32>
  %vOld = graph.multiply %v, %b2 : tensor<256x256xf32>
  %vAdd = graph.multiply %gg, %r2 : tensor<256x256xf32>
  %vNew = graph.add %vOld, %vAdd : tensor<256x256xf32>
  %c1 = graph.broadcast %bias1 dims [] : tensor<f32> -> tensor<256x256xf32>
  %c2 = graph.broadcast %bias2 dims [] : tensor<f32> -> tensor<256x256xf32>
  %mHat = graph.divide %mNew, %c1 : tensor<256x256xf32>
  %vHat = graph.divide %vNew, %c2 : tensor<256x256xf32>
  %root = graph.sqrt %vHat : tensor<256x256xf32>
  %epsilons = graph.broadcast %eps dims [] : tensor<f32> -> tensor<256x256xf32>
  %below = graph.add %root, %epsilons : tensor<256x256xf32>
  %direction = graph.divide %mHat, %below : tensor<256x256xf32>
  %decays = graph.broadcast %weight_decay dims [] : tensor<f32> -> tensor<256x256xf32>
  %decay = graph.multiply %w, %decays : tensor<256x256xf32>
  %change = graph.add %direction, %decay : tensor<256x256xf32>
  %rates = graph.broadcast %learning_rate dims [] : tensor<f32> -> tensor<256x256xf32>
  %move = graph.multiply %change, %rates : tensor<256x256xf32>
  %wNew = graph.subtract %w, %move : tensor<256x256xf32>
  return %loss, %norm, %wNew, %mNew, %vNew, %newstep : tensor<f32>, tensor<f32>, tensor<256x256xf32>, tensor<256x256xf32>, tensor<256x256xf32>, tensor<i64>
}
