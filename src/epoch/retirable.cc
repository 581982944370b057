#include "epoch/retirable.h"

#include <utility>

namespace quiesce::epoch {

struct ForeignList::Item {
  absl::AnyInvocable<void()> destructor;
  Item* next = nullptr;
};

ForeignList::~ForeignList() {
  while (run_one()) {
  }
}

void ForeignList::add(absl::AnyInvocable<void()> destructor) {
  Item* item = new Item{std::move(destructor)};
  (last_ == nullptr ? first_ : last_->next) = item;
  last_ = item;
  ++size_;
}

void ForeignList::take(ForeignList& other) {
  if (other.first_ == nullptr) return;
  (last_ == nullptr ? first_ : last_->next) = other.first_;
  last_ = other.last_;
  size_ += other.size_;
  other.first_ = other.last_ = nullptr;
  other.size_ = 0;
}

bool ForeignList::run_one() {
  Item* item = first_;
  if (item == nullptr) return false;
  first_ = item->next;
  if (first_ == nullptr) last_ = nullptr;
  --size_;
  item->destructor();
  delete item;
  return true;
}

}  // namespace quiesce::epoch
