#include "epoch/thread_context.h"

#include "epoch/domain.h"

namespace quiesce::epoch {

ThreadContext ThreadContext::capture(Domain& domain) {
  ThreadContext context;
  context.domain_ = &domain;
  if (const ThreadRecord* record = domain.existing_record(); record != nullptr) {
    context.scope_ = record->get(ThreadSlot::kScope);
    context.lease_scopes_ = record->lease_scopes_;
  }
  return context;
}

RestoreScope::RestoreScope(const ThreadContext& context) {
  if (context.domain_ == nullptr || context.domain_->forked()) return;
  record_ = &context.domain_->record();
  scope_ = record_->get(ThreadSlot::kScope);
  lease_scopes_ = record_->lease_scopes_;
  record_->set(ThreadSlot::kScope, context.scope_);
  record_->lease_scopes_ = context.lease_scopes_;
}

RestoreScope::~RestoreScope() {
  if (record_ == nullptr) return;
  record_->set(ThreadSlot::kScope, scope_);
  record_->lease_scopes_ = lease_scopes_;
}

}  // namespace quiesce::epoch
