//! A recording profile for Windows Performance Recorder: the driver's provider with every level and keyword.
//!
//! Elements, attributes and their order follow Microsoft Learn, "Recording Profile XML Reference". The files have not
//! been tested with WPR.

use super::provider::Provider;

/// Returns the text of `NAME.wprp`.
pub(super) fn profile(name: &str, provider: &Provider) -> String {
    let id = identifier(name);
    let name = escaped(name);
    let guid = provider.id;
    let provider = escaped(&provider.name);
    // Level 0, the default, means every level, and keyword 0 means every keyword. Drivers write at any IRQL, so the
    // buffers must be in non-paged memory.
    let text = format!(
        r#"<?xml version="1.0" encoding="utf-8"?>
<!-- The provider {comment}. Start: wpr -start {file}.wprp -filemode   End: wpr -stop FILE.etl -->
<WindowsPerformanceRecorder Version="1.0" Comments="The events of {name}">
  <Profiles>
    <EventCollector Id="EventCollector_{id}" Name="{name} collector">
      <BufferSize Value="128"/>
      <Buffers Value="64"/>
    </EventCollector>
    <EventProvider Id="EventProvider_{id}" Name="{guid}" NonPagedMemory="true">
      <Keywords>
        <Keyword Value="0x0"/>
      </Keywords>
      <CaptureStateOnSave>
        <Keyword Value="0x0"/>
      </CaptureStateOnSave>
    </EventProvider>
    <Profile Id="{id}.Verbose.File" Name="{id}" Description="{name}: {provider}" LoggingMode="File" DetailLevel="Verbose">
      <Collectors>
        <EventCollectorId Value="EventCollector_{id}">
          <EventProviders>
            <EventProviderId Value="EventProvider_{id}"/>
          </EventProviders>
        </EventCollectorId>
      </Collectors>
    </Profile>
    <Profile Id="{id}.Verbose.Memory" Name="{id}" Description="{name}: {provider}" Base="{id}.Verbose.File" LoggingMode="Memory" DetailLevel="Verbose"/>
  </Profiles>
</WindowsPerformanceRecorder>
"#,
        // A comment must not contain two hyphens in a row.
        comment = provider.replace("--", "- -"),
        file = name.replace("--", "- -"),
    );
    text.replace('\n', "\r\n")
}

/// Returns a valid id: it must not contain colons or spaces, and dots separate its parts.
fn identifier(name: &str) -> String {
    name.chars().map(|c| if c.is_alphanumeric() || c == '_' || c == '-' { c } else { '_' }).collect()
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
    // These characters are not valid even if they are escaped.
    text.replace(|c: char| c.is_control() || c == '\u{fffe}' || c == '\u{ffff}', "?")
}

#[cfg(test)]
mod tests {
    use super::{escaped, identifier};

    #[test]
    fn names_become_valid_ids_and_attributes() {
        assert_eq!(identifier("a_b-c.d e:f"), "a_b-c_d_e_f");
        assert_eq!(escaped("a<b>&\"c\"\u{7}\u{fffe}\u{ffff}"), "a&lt;b&gt;&amp;&quot;c&quot;???");
    }
}
