"""What libyal's reader finds in a WEVT_TEMPLATE resource, as lines."""

import sys

import pyfwevt

manifest = pyfwevt.manifest()
manifest.copy_from_byte_stream(open(sys.argv[1], "rb").read())
for provider in manifest.providers:
    print("provider", provider.identifier)
    print("channels", *(f"{channel.name}" for channel in provider.channels))
    print("counts", provider.number_of_keywords, provider.number_of_levels, provider.number_of_maps,
          provider.number_of_opcodes, provider.number_of_tasks, provider.number_of_templates)
    for event in provider.events:
        print("event", event.identifier, event.version, hex(event.message_identifier))
    for template in provider.templates:
        print("template", *(f"{item.name}:{item.input_data_type}" for item in template.items))
