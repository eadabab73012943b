#include "chat/native.h"

#include <algorithm>

#include "chat/convert.h"

namespace brio::chat {

Result<Bound> Bound::bind(const Arguments& arguments, std::initializer_list<std::string_view> parameters,
                          size_t required) {
  Bound bound;
  std::ranges::copy(parameters, bound.names_.begin());
  if (arguments.positional.size() > parameters.size()) {
    return render_error("takes at most {} arguments, not {}", parameters.size(), arguments.positional.size());
  }
  for (size_t i = 0; i < arguments.positional.size(); ++i) bound.values_[i] = &arguments.positional[i];
  for (const auto& [name, value] : arguments.named) {
    const auto* parameter = std::ranges::find(parameters, name);
    if (parameter == parameters.end()) return render_error("has no argument '{}'", shown(name));
    const Value*& place = bound.values_[static_cast<size_t>(parameter - parameters.begin())];
    if (place != nullptr) return render_error("has two values for argument '{}'", shown(name));
    place = &value;
  }
  for (size_t i = 0; i < required; ++i) {
    if (bound.values_[i] == nullptr) return render_error("needs a value for argument '{}'", bound.names_[i]);
  }
  return bound;
}

Result<int64_t> Bound::integer(size_t i, int64_t otherwise) const {
  if (values_[i] == nullptr) return otherwise;
  return to_index(*values_[i], names_[i]);
}

Result<const Text*> Bound::text(size_t i, const Text* otherwise) const {
  if (values_[i] == nullptr) return otherwise;
  return to_text_argument(*values_[i], names_[i]);
}

bool Bound::flag(size_t i, bool otherwise) const {
  return values_[i] == nullptr ? otherwise : truthy(*values_[i]);
}

}  // namespace brio::chat
