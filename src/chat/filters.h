// The filters, by what they work on. filters.cc holds the table of names.
#pragma once

#include "chat/native.h"

namespace brio::chat::filters {

#define BRIO_CHAT_FILTER(name) Result<Value> name(Interpreter& in, const Value& self, const Arguments& arguments)

// text_filters.cc
BRIO_CHAT_FILTER(upper);
BRIO_CHAT_FILTER(lower);
BRIO_CHAT_FILTER(title);
BRIO_CHAT_FILTER(capitalize);
BRIO_CHAT_FILTER(trim);
BRIO_CHAT_FILTER(replace);
BRIO_CHAT_FILTER(string);
BRIO_CHAT_FILTER(safe);
BRIO_CHAT_FILTER(indent);
BRIO_CHAT_FILTER(center);
BRIO_CHAT_FILTER(truncate);
BRIO_CHAT_FILTER(wordcount);
BRIO_CHAT_FILTER(format);
BRIO_CHAT_FILTER(join);

// markup_filters.cc
BRIO_CHAT_FILTER(escape);
BRIO_CHAT_FILTER(striptags);
BRIO_CHAT_FILTER(urlencode);

// number_filters.cc
BRIO_CHAT_FILTER(abs);
BRIO_CHAT_FILTER(round);
BRIO_CHAT_FILTER(to_int);
BRIO_CHAT_FILTER(to_float);

// sequence_filters.cc
BRIO_CHAT_FILTER(first);
BRIO_CHAT_FILTER(last);
BRIO_CHAT_FILTER(length);
BRIO_CHAT_FILTER(list);
BRIO_CHAT_FILTER(reverse);
BRIO_CHAT_FILTER(items);
BRIO_CHAT_FILTER(batch);
BRIO_CHAT_FILTER(slice);
BRIO_CHAT_FILTER(attr);
BRIO_CHAT_FILTER(otherwise);  // default
BRIO_CHAT_FILTER(map);
BRIO_CHAT_FILTER(select);
BRIO_CHAT_FILTER(reject);
BRIO_CHAT_FILTER(selectattr);
BRIO_CHAT_FILTER(rejectattr);

// order_filters.cc
BRIO_CHAT_FILTER(sort);
BRIO_CHAT_FILTER(dictsort);
BRIO_CHAT_FILTER(unique);
BRIO_CHAT_FILTER(min);
BRIO_CHAT_FILTER(max);
BRIO_CHAT_FILTER(sum);
BRIO_CHAT_FILTER(groupby);

#undef BRIO_CHAT_FILTER

}  // namespace brio::chat::filters
