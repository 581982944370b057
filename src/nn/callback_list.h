// CallbackList: the callbacks of one fit, called in turn.
#ifndef QUIESCE_NN_CALLBACK_LIST_H_
#define QUIESCE_NN_CALLBACK_LIST_H_

#include <exception>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/make_error.h"
#include "quiesce/callbacks.h"
#include "quiesce/errors.h"

namespace quiesce::nn {

// Calls the user's callbacks and lets no exception of theirs get further.
// Owner: a local variable. Thread word: thread-bound.
class CallbackList {
 public:
  explicit CallbackList(absl::Span<const std::shared_ptr<Callback>> callbacks) {
    for (const std::shared_ptr<Callback>& callback : callbacks) {
      if (callback != nullptr) callbacks_.push_back(callback);
    }
  }
  CallbackList(const CallbackList&) = delete;
  CallbackList& operator=(const CallbackList&) = delete;
  ~CallbackList() {
    // Every one of them forgets the model, whatever another's overriding does.
    for (const auto& callback : callbacks_) {
      try {
        callback->set_model(nullptr);
      } catch (...) {  // the fit is over: there is nobody left to be told
      }
    }
  }

  // Tells them what the fit is about; once, before everything else.
  absl::Status begin(Sequential* model, const FitParams& params) {
    return each([&](Callback& callback) {
      callback.set_model(model);
      callback.set_params(params);
      wants_batches_ = callback.wants_batches() || wants_batches_;
    });
  }

  bool wants_batches() const { return wants_batches_; }

  // call(callback) for each of them.
  template <typename Call>
  absl::Status each(Call call) const {
    try {
      for (const auto& callback : callbacks_) call(*callback);
    } catch (const std::exception& thrown) {
      return base::make_error(ErrorKind::kOther, absl::StrCat("a callback threw: ", thrown.what()));
    } catch (...) {
      return base::make_error(ErrorKind::kOther, "a callback threw something unknown");
    }
    return absl::OkStatus();
  }

 private:
  std::vector<std::shared_ptr<Callback>> callbacks_;
  bool wants_batches_ = false;
};

}  // namespace quiesce::nn

#endif  // QUIESCE_NN_CALLBACK_LIST_H_
