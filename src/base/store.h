// base/store.h
//
// Store<T>: what exists, as far as we have heard: objects by key, with indexes, and handlers that
// see every change as (before, after). Filled by one writer (a Reflector for a Kubernetes kind, the
// change cache for Slurm), read by everybody else on the same loop. No locks, no I/O.
//
// Objects are immutable and shared: whoever took one keeps it as long as it likes. An object that
// equals the stored one replaces it silently (its resource version may differ); no handler runs.
//
// A first filling, or one after a gap, is atomic: begin_replace(), put() and erase() as things
// arrive, end_replace(). Until the end, readers and handlers see nothing of it; then what was not
// put is erased, and handlers run once for each object that differs. What is the same as before,
// resource version included, is shared with what is stored, so a refill takes little memory.
//
// A store may be filled in parts, one for each namespace that is watched: then each part is
// replaced by itself, and the store is synced when all have been.
//
// What was good enough to look at may be too old to act on: whoever begins to lead must see what
// the one before wrote last. Then the store is doubted, until its writer has seen all of it anew.
//
// T has operator== and either `meta.key()` or `key()`, giving its KeyView. Where it has
// share_with(), an object that nobody shares yet is told of the stored one and may take parts of it
// over.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/object_key.h"

namespace mainspring {

template <class T>
KeyView store_key(const T& object) {
  if constexpr (requires { object.meta.key(); }) {
    return object.meta.key();
  } else {
    return object.key();
  }
}

template <class T>
class Store {
 public:
  using Object = std::shared_ptr<const T>;
  // `before` is null for a new object, `after` for one that is gone.
  using Handler = std::function<void(const Object& before, const Object& after)>;
  // Adds the values under which an object is to be found. Depends on nothing that == ignores.
  using IndexFunction = std::function<void(const T& object, std::vector<std::string>& values)>;
  enum class IndexId : std::size_t {};

  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // Null where there is none.
  Object get(KeyView key) const {
    const auto it = objects_.find(key);
    return it == objects_.end() ? nullptr : it->object;
  }
  Object get(std::string_view ns, std::string_view name) const { return get(KeyView{ns, name}); }
  std::size_t size() const { return objects_.size(); }
  template <class Fn>
  void for_each(Fn fn) const {
    for (const Entry& entry : objects_) fn(entry.object);
  }

  // Whether all objects have been put once. Before that, absence means nothing.
  bool synced() const { return synced_; }
  // Runs once, at the first end_replace(); at once if that has been.
  void on_synced(std::function<void()> action) {
    if (synced_) return action();
    when_synced_.push_back(std::move(action));
  }

  // Whether what is here is good enough to act on: complete, and not doubted.
  bool current() const { return synced_ && !doubted_; }
  // From now on what is stored may be too old, until confirm(). Does not erase anything.
  void doubt() {
    doubted_ = true;
    confirmed_.clear();
  }
  // Runs whenever a doubt has been removed.
  void on_confirmed(std::function<void()> action) { when_confirmed_.push_back(std::move(action)); }

  // Indexes and handlers are added while things are wired up; both cover what is there already (a
  // handler sees it as new). A handler may read the store, which is up to date, and must not write.
  IndexId add_index(IndexFunction function);
  void add_handler(Handler handler);

  // In no particular order. Valid until the next change of the store.
  const std::vector<Object>& find(IndexId index, std::string_view value) const;

  // For the one writer. A part is the namespace `ns`; the whole where it is empty.
  void put(Object object);
  void put(std::shared_ptr<T> object);
  void erase(KeyView key);
  void begin_replace(std::string_view ns = {});
  void end_replace(std::string_view ns = {});
  // Forgets what was put since begin_replace().
  void abandon_replace(std::string_view ns = {});
  // All of the part has been seen since doubt(): asked for after it, and stored.
  void confirm(std::string_view ns = {});
  // How many parts there are; 1 unless told, before the first is filled.
  void expect_parts(std::size_t count) { parts_ = count; }

 private:
  struct Entry;
  struct Bucket {
    std::vector<Object> objects;
    // Whose place each of them is, so that filling the gap of one that leaves takes no search.
    std::vector<std::pair<const Entry*, std::size_t>> owners;
  };
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };
  using Buckets = std::unordered_map<std::string, Bucket, TextHash, std::equal_to<>>;
  struct Place {
    std::size_t index;
    typename Buckets::value_type* bucket;
    std::size_t position;
  };
  // Mutable, as members of a set are const for the sake of their key, which stays the same.
  struct Entry {
    mutable Object object;
    mutable std::vector<Place> places;
  };
  static KeyView key_of(KeyView key) { return key; }
  static KeyView key_of(const Entry& entry) { return store_key(*entry.object); }
  struct Hash {
    using is_transparent = void;
    template <class Key>
    std::size_t operator()(const Key& key) const {
      return KeyHash()(key_of(key));
    }
  };
  struct Equal {
    using is_transparent = void;
    template <class A, class B>
    bool operator()(const A& a, const B& b) const {
      return key_of(a) == key_of(b);
    }
  };
  using Objects = std::unordered_set<Entry, Hash, Equal>;
  struct Index {
    IndexFunction function;
    Buckets buckets;
  };
  struct Change {
    Object before;
    Object after;
  };

  static bool same(const T& a, const T& b) {
    if constexpr (requires { a.meta.resource_version; }) {
      if (a.meta.resource_version != b.meta.resource_version) return false;
    }
    return a == b;
  }

  // What is being put for the part that `key` is in; null where that is not being replaced.
  Objects* staged_for(KeyView key);
  void stage(Objects& staged, Object object);
  // What handlers are to be told; nothing where the object equals the stored one.
  Change set(Object object);
  Change added(const Entry& entry);
  Change replaced(const Entry& entry, Object object);
  Change remove(typename Objects::const_iterator it);
  void place(const Entry& entry);
  void unplace(const Entry& entry);
  void collect_values(const T& object);
  bool places_hold(const Entry& entry) const;
  void tell(const Change& change, std::size_t handlers) const;

  Objects objects_;
  std::map<std::string, Objects, std::less<>> staged_;  // By part.
  std::set<std::string, std::less<>> filled_;
  std::set<std::string, std::less<>> confirmed_;  // Parts, while doubted.
  std::size_t parts_ = 1;
  bool synced_ = false;
  bool doubted_ = false;
  // Pointers, because one may be added while another runs.
  std::vector<std::unique_ptr<const Handler>> handlers_;
  std::vector<std::unique_ptr<Index>> indexes_;
  std::vector<std::function<void()>> when_synced_, when_confirmed_;
  // The values of the object at hand: those of index i end at ends_[i]. Kept for their memory.
  std::vector<std::string> values_;
  std::vector<std::size_t> ends_;
};

template <class T>
typename Store<T>::IndexId Store<T>::add_index(IndexFunction function) {
  indexes_.push_back(std::make_unique<Index>(Index{std::move(function), {}}));
  for (const Entry& entry : objects_) {
    unplace(entry);
    collect_values(*entry.object);
    place(entry);
  }
  return IndexId{indexes_.size() - 1};
}

template <class T>
void Store<T>::add_handler(Handler handler) {
  handlers_.push_back(std::make_unique<const Handler>(std::move(handler)));
  const Handler& added = *handlers_.back();
  for (const Entry& entry : objects_) added(nullptr, entry.object);
}

template <class T>
const std::vector<typename Store<T>::Object>& Store<T>::find(IndexId index,
                                                             std::string_view value) const {
  static const std::vector<Object> kNone;
  const Buckets& buckets = indexes_[static_cast<std::size_t>(index)]->buckets;
  const auto it = buckets.find(value);
  return it == buckets.end() ? kNone : it->second.objects;
}

template <class T>
void Store<T>::put(Object object) {
  if (Objects* staged = staged_for(store_key(*object))) return stage(*staged, std::move(object));
  tell(set(std::move(object)), handlers_.size());
}

template <class T>
void Store<T>::put(std::shared_ptr<T> object) {
  if constexpr (requires { object->share_with(*object); }) {
    if (const auto it = objects_.find(store_key(*object)); it != objects_.end()) {
      object->share_with(*it->object);
    }
  }
  put(Object(std::move(object)));
}

template <class T>
void Store<T>::erase(KeyView key) {
  Objects* const staged = staged_for(key);
  Objects& objects = staged != nullptr ? *staged : objects_;
  const auto it = objects.find(key);
  if (it == objects.end()) return;
  if (staged != nullptr) {
    staged->erase(it);
  } else {
    tell(remove(it), handlers_.size());
  }
}

template <class T>
void Store<T>::begin_replace(std::string_view ns) {
  (staged_[std::string(ns)] = Objects()).reserve(objects_.size());
}

template <class T>
void Store<T>::abandon_replace(std::string_view ns) {
  if (const auto it = staged_.find(ns); it != staged_.end()) staged_.erase(it);
}

template <class T>
void Store<T>::end_replace(std::string_view ns) {
  auto part = staged_.extract(std::string(ns));
  Objects staged = part ? std::move(part.mapped()) : Objects();
  const std::size_t handlers = handlers_.size();
  std::vector<Change> changes;
  const auto note = [&](Change change) {
    if (handlers > 0 && (change.before || change.after)) changes.push_back(std::move(change));
  };
  for (auto it = objects_.begin(); it != objects_.end();) {
    const auto gone = it++;
    const KeyView key = key_of(*gone);
    if ((ns.empty() || key.ns == ns) && !staged.contains(key)) note(remove(gone));
  }
  if (objects_.empty()) {
    objects_ = std::move(staged);
    if (!indexes_.empty() || handlers > 0) {  // Else nothing of them needs to be touched again.
      for (const Entry& entry : objects_) note(added(entry));
    }
  } else {
    objects_.reserve(staged.size());
    while (!staged.empty()) {
      // The entry moves as it is: one made anew would leave a hole among the objects for each.
      auto entry = staged.extract(staged.begin());
      const auto it = objects_.find(key_of(entry.value()));
      note(it == objects_.end() ? added(*objects_.insert(std::move(entry)).position)
                                : replaced(*it, std::move(entry.value().object)));
    }
  }
  // All of it is in place before anybody is told of the first.
  for (const Change& change : changes) tell(change, handlers);
  filled_.insert(std::string(ns));
  if (filled_.size() < parts_) return;
  synced_ = true;
  for (const auto& action : std::exchange(when_synced_, {})) action();
}

template <class T>
void Store<T>::confirm(std::string_view ns) {
  if (!doubted_) return;
  confirmed_.emplace(ns);
  if (confirmed_.size() < parts_) return;
  doubted_ = false;
  for (const auto& action : when_confirmed_) action();
}

template <class T>
typename Store<T>::Objects* Store<T>::staged_for(KeyView key) {
  if (staged_.empty()) return nullptr;
  auto it = staged_.find(std::string_view());
  if (it == staged_.end()) it = staged_.find(key.ns);
  return it == staged_.end() ? nullptr : &it->second;
}

template <class T>
void Store<T>::stage(Objects& staged, Object object) {
  if (!objects_.empty()) {
    const auto stored = objects_.find(store_key(*object));
    if (stored != objects_.end() && same(*stored->object, *object)) object = stored->object;
  }
  // Each growth looks at every object again, mostly far off in memory: so few growths, large ones.
  if (staged.size() >= staged.bucket_count()) staged.reserve(4 * staged.size());
  const auto [it, is_new] = staged.insert(Entry{object, {}});
  if (!is_new) it->object = std::move(object);
}

template <class T>
typename Store<T>::Change Store<T>::set(Object object) {
  const auto it = objects_.find(store_key(*object));
  if (it != objects_.end()) return replaced(*it, std::move(object));
  return added(*objects_.insert(Entry{std::move(object), {}}).first);
}

template <class T>
typename Store<T>::Change Store<T>::added(const Entry& entry) {
  collect_values(*entry.object);
  place(entry);
  return {nullptr, entry.object};
}

template <class T>
typename Store<T>::Change Store<T>::replaced(const Entry& entry, Object object) {
  const Object before = std::exchange(entry.object, std::move(object));
  const bool equal = *before == *entry.object;
  if (!equal) collect_values(*entry.object);
  if (equal || places_hold(entry)) {
    for (const Place& at : entry.places) at.bucket->second.objects[at.position] = entry.object;
  } else {
    unplace(entry);
    place(entry);
  }
  return equal ? Change{} : Change{before, entry.object};
}

template <class T>
typename Store<T>::Change Store<T>::remove(typename Objects::const_iterator it) {
  unplace(*it);
  auto node = objects_.extract(it);
  return {std::move(node.value().object), nullptr};
}

template <class T>
void Store<T>::collect_values(const T& object) {
  values_.clear();
  ends_.clear();
  for (const auto& index : indexes_) {
    const auto begin = static_cast<std::ptrdiff_t>(values_.size());
    index->function(object, values_);
    std::sort(values_.begin() + begin, values_.end());
    values_.erase(std::unique(values_.begin() + begin, values_.end()), values_.end());
    ends_.push_back(values_.size());
  }
}

// Whether the entry stands where the collected values want it.
template <class T>
bool Store<T>::places_hold(const Entry& entry) const {
  if (entry.places.size() != values_.size()) return false;
  for (std::size_t i = 0, index = 0; i < values_.size(); ++i) {
    while (i >= ends_[index]) ++index;
    if (entry.places[i].index != index || entry.places[i].bucket->first != values_[i]) return false;
  }
  return true;
}

template <class T>
void Store<T>::place(const Entry& entry) {
  entry.places.reserve(values_.size());
  for (std::size_t i = 0, index = 0; i < values_.size(); ++i) {
    while (i >= ends_[index]) ++index;
    auto& bucket = *indexes_[index]->buckets.try_emplace(std::move(values_[i])).first;
    entry.places.push_back({index, &bucket, bucket.second.objects.size()});
    bucket.second.objects.push_back(entry.object);
    bucket.second.owners.emplace_back(&entry, i);
  }
}

template <class T>
void Store<T>::unplace(const Entry& entry) {
  for (const Place& at : entry.places) {
    Bucket& bucket = at.bucket->second;
    const auto [owner, number] = bucket.owners.back();
    bucket.objects[at.position] = std::move(bucket.objects.back());
    bucket.owners[at.position] = bucket.owners.back();
    owner->places[number].position = at.position;
    bucket.objects.pop_back();
    bucket.owners.pop_back();
    if (bucket.objects.empty()) {
      Buckets& buckets = indexes_[at.index]->buckets;
      buckets.erase(buckets.find(at.bucket->first));
    }
  }
  entry.places.clear();
}

// `handlers`: how many there were when the store changed; a later one has seen the result already.
template <class T>
void Store<T>::tell(const Change& change, std::size_t handlers) const {
  if (!change.before && !change.after) return;
  for (std::size_t i = 0; i < handlers; ++i) (*handlers_[i])(change.before, change.after);
}

}  // namespace mainspring
