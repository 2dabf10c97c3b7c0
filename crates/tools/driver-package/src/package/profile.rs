//! A recording profile for Windows Performance Recorder: the driver's provider, at every level and keyword.
//!
//! Elements, attributes and their order are those of Microsoft Learn, "Recording Profile XML Reference". WPR itself has
//! not opened one of these files.

use etw_types::Guid;

/// The text of `NAME.wprp`.
pub(super) fn profile(name: &str, provider: &str) -> String {
    let (id, name, provider) = (identifier(name), escaped(name), (escaped(provider), Guid::from_name(provider)));
    let (provider, guid) = provider;
    // A level of 0, the default, is every level; so is keyword 0 every keyword. Drivers write at any IRQL, hence memory
    // that is not paged.
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

/// An id of a profile has neither colons nor spaces, and its parts are separated with dots.
fn identifier(name: &str) -> String {
    name.chars().map(|c| if c.is_alphanumeric() || c == '_' || c == '-' { c } else { '_' }).collect()
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
    // No escape makes these characters valid.
    text.replace(|c: char| c.is_control() || c == '\u{fffe}' || c == '\u{ffff}', "?")
}
