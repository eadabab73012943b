// TracedModel: a model on a ProbeDevice that tells the device's trace which layer runs. Without a trace it is the model.
#pragma once

#include <memory>
#include <utility>

#include "model/model.h"
#include "prove/probe_device.h"

namespace brio::prove {

class TracedModel final : public model::Model {
 public:
  TracedModel(std::unique_ptr<model::Model> model, std::shared_ptr<ProbeDevice> device)
      : Model(model->config(), model->limits(), device), model_(std::move(model)), device_(std::move(device)) {
    weight_bytes_ = model_->weight_bytes();
  }

  ProbeDevice& device() { return *device_; }

  const ops::Rows& forward(const model::StepInputs& in) override {
    Hooks hooks(in.hooks, *device_);
    return model_->forward({in.step, in.kv, hooks});
  }

 private:
  class Hooks final : public model::LayerHooks {
   public:
    Hooks(model::LayerHooks& outer, ProbeDevice& device) : outer_(outer), device_(device) {}
    void before_layer(int layer) override {
      outer_.before_layer(layer);
      if (device_.trace() != nullptr) device_.trace()->set_layer(layer);
    }
    void after_layer(int layer) override {
      outer_.after_layer(layer);
      if (device_.trace() != nullptr) device_.trace()->set_layer(kNoLayer);
    }

   private:
    model::LayerHooks& outer_;
    ProbeDevice& device_;
  };

  std::unique_ptr<model::Model> model_;
  std::shared_ptr<ProbeDevice> device_;
};

}  // namespace brio::prove
