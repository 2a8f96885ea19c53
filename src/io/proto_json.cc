#include "io/proto_json.h"

#include <memory>

#include "fmt/format.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor.pb.h"
#include "google/protobuf/dynamic_message.h"
#include "google/protobuf/util/json_util.h"

namespace hlo::io {
namespace {

namespace pb = google::protobuf;

// Our messages declare all text as bytes. XLA's have strings, except for elements of literals and
// configurations of instructions.
bool IsText(const std::string& message, const std::string& field) {
  if (message == "LiteralProto" || message == "Payload") return false;
  return field != "backend_config" && field != "infeed_config" && field != "outfeed_config" &&
         field != "payloads";
}

void MakeText(pb::DescriptorProto* message) {
  for (pb::FieldDescriptorProto& field : *message->mutable_field()) {
    if (field.type() == pb::FieldDescriptorProto::TYPE_BYTES && IsText(message->name(), field.name()))
      field.set_type(pb::FieldDescriptorProto::TYPE_STRING);
  }
  for (pb::DescriptorProto& nested : *message->mutable_nested_type()) MakeText(&nested);
}

// Replaces `map` in FrontendAttributes, for us a list of pairs, by a protobuf map, which has the same wire
// format.
void MakeMap(pb::FileDescriptorProto* file) {
  const pb::DescriptorProto* pair = nullptr;
  for (const pb::DescriptorProto& message : file->message_type()) {
    if (message.name() == "KeyValue") pair = &message;
  }
  for (pb::DescriptorProto& message : *file->mutable_message_type()) {
    if (message.name() != "FrontendAttributes" || pair == nullptr) continue;
    pb::DescriptorProto* entry = message.add_nested_type();
    *entry = *pair;
    entry->set_name("MapEntry");
    entry->mutable_options()->set_map_entry(true);
    message.mutable_field(0)->set_type_name(fmt::format(".{}.FrontendAttributes.MapEntry", file->package()));
  }
}

// Descriptors of the messages with strings instead of bytes.
class TextMessages {
 public:
  TextMessages() : factory_(&pool_) {
    pb::FileDescriptorProto file;
    proto::HloModuleProto::descriptor()->file()->CopyTo(&file);
    for (pb::DescriptorProto& message : *file.mutable_message_type()) MakeText(&message);
    MakeMap(&file);
    const pb::FileDescriptor* built = pool_.BuildFile(file);
    prototype_ = factory_.GetPrototype(built->FindMessageTypeByName("HloModuleProto"));
  }
  std::unique_ptr<pb::Message> New() const { return std::unique_ptr<pb::Message>(prototype_->New()); }

 private:
  pb::DescriptorPool pool_;
  pb::DynamicMessageFactory factory_;
  const pb::Message* prototype_ = nullptr;
};

}  // namespace

absl::StatusOr<std::string> MessageToJson(const proto::HloModuleProto& message) {
  const TextMessages messages;
  const std::unique_ptr<pb::Message> text = messages.New();
  if (!text->ParseFromString(message.SerializeAsString()))
    return absl::InvalidArgumentError(
        "a name in the module is not UTF-8, which JSON needs; write a .pb file");
  pb::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.preserve_proto_field_names = true;
  std::string json;
  const auto status = pb::util::MessageToJsonString(*text, &json, options);
  if (!status.ok()) return absl::InvalidArgumentError(status.ToString());
  return json;
}

absl::StatusOr<proto::HloModuleProto> MessageFromJson(const std::string& json) {
  const TextMessages messages;
  const std::unique_ptr<pb::Message> text = messages.New();
  pb::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  const auto status = pb::util::JsonStringToMessage(json, text.get(), options);
  if (!status.ok())
    return absl::InvalidArgumentError(
        fmt::format("is not the JSON of an HloModuleProto: {}", status.ToString()));
  proto::HloModuleProto message;
  if (!message.ParseFromString(text->SerializeAsString()))
    return absl::InvalidArgumentError("is not the JSON of an HloModuleProto");
  return message;
}

}  // namespace hlo::io
