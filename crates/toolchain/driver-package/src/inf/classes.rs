//! Device setup classes that Microsoft defined: classes that are reserved, and classes that Windows itself installs.
//!
//! Both lists are from Microsoft Learn, "System-Defined Device Setup Classes Reserved for System Use" and "… Available
//! to Vendors". The class of the WDK's samples is on neither list, but infverif rejects it in other drivers.

/// Name and GUID.
pub(super) type Class = (&'static str, &'static str);

/// Classes that are reserved for Microsoft.
pub(super) const RESERVED: &[Class] = &[
    ("1394Debug", "66f250d6-7801-4a64-b139-eea80a450b24"),
    ("Adapter", "4d36e964-e325-11ce-bfc1-08002be10318"),
    ("APMSupport", "d45b1c18-c8fa-11d1-9f77-0000f805f530"),
    ("AudioEndpoint", "c166523c-fe0c-4a94-a586-f1a80cfbbf3e"),
    ("Computer", "4d36e966-e325-11ce-bfc1-08002be10318"),
    ("Decoder", "6bdd1fc2-810f-11d0-bec7-08002be2092f"),
    ("Enum1394", "c459df55-db08-11d1-b009-00a0c9081ff6"),
    ("LegacyDriver", "8ecc055d-047f-11d1-a537-0000f8753ed1"),
    ("NoDriver", "4d36e976-e325-11ce-bfc1-08002be10318"),
    ("PrinterUpgrade", "4d36e97a-e325-11ce-bfc1-08002be10318"),
    ("PrintQueue", "1ed2bbf9-11f0-4084-b21f-ad83a8e6dcdc"),
    ("Sample", "78a1c341-4539-11d3-b88d-00c04fad5171"),
    ("SoftwareDevice", "62f9c741-b25a-46ce-b54c-9bccce08b6f2"),
    ("Sound", "4d36e97c-e325-11ce-bfc1-08002be10318"),
    ("Unknown", "4d36e97e-e325-11ce-bfc1-08002be10318"),
    ("USB", "36fc9e60-c465-11cf-8056-444553540000"),
    ("VolumeSnapshot", "533c5b84-ec70-11d2-9505-00c04f79deaf"),
];

/// Classes that every vendor can use, but only Windows installs.
pub(super) const SYSTEM: &[Class] = &[
    ("1394", "6bdd1fc1-810f-11d0-bec7-08002be2092f"),
    ("61883", "7ebefbc0-3200-11d2-b4c2-00a0c9697d07"),
    ("AVC", "c06ff265-ae09-48f0-812c-16753d7cba83"),
    ("Battery", "72631e54-78a4-11d0-bcf7-00aa00b7b32a"),
    ("Biometric", "53d29ef7-377c-4d14-864b-eb3a85769359"),
    ("Bluetooth", "e0cbf06c-cd8b-4647-bb8a-263b43f0f974"),
    ("Camera", "ca3e7ab9-b4c3-4ae6-8251-579ef933890f"),
    ("CDROM", "4d36e965-e325-11ce-bfc1-08002be10318"),
    ("DiskDrive", "4d36e967-e325-11ce-bfc1-08002be10318"),
    ("Display", "4d36e968-e325-11ce-bfc1-08002be10318"),
    ("Dot4", "48721b56-6795-11d2-b1a8-0080c72e74a2"),
    ("Dot4Print", "49ce6ac8-6f86-11d2-b1e5-0080c72e74a2"),
    ("Extension", "e2f84ce7-8efa-411c-aa69-97454ca4cb57"),
    ("FDC", "4d36e969-e325-11ce-bfc1-08002be10318"),
    ("FloppyDisk", "4d36e980-e325-11ce-bfc1-08002be10318"),
    ("GPS", "6bdd1fc3-810f-11d0-bec7-08002be2092f"),
    ("HDC", "4d36e96a-e325-11ce-bfc1-08002be10318"),
    ("HIDClass", "745a17a0-74d3-11d0-b6fe-00a0c90f57da"),
    ("Image", "6bdd1fc6-810f-11d0-bec7-08002be2092f"),
    ("Infrared", "6bdd1fc5-810f-11d0-bec7-08002be2092f"),
    ("Keyboard", "4d36e96b-e325-11ce-bfc1-08002be10318"),
    ("Media", "4d36e96c-e325-11ce-bfc1-08002be10318"),
    ("MediumChanger", "ce5939ae-ebde-11d0-b181-0000f8753ec4"),
    ("Modem", "4d36e96d-e325-11ce-bfc1-08002be10318"),
    ("Monitor", "4d36e96e-e325-11ce-bfc1-08002be10318"),
    ("Mouse", "4d36e96f-e325-11ce-bfc1-08002be10318"),
    ("MTD", "4d36e970-e325-11ce-bfc1-08002be10318"),
    ("Multifunction", "4d36e971-e325-11ce-bfc1-08002be10318"),
    ("MultiportSerial", "50906cb8-ba12-11d1-bf5d-0000f805f530"),
    ("Net", "4d36e972-e325-11ce-bfc1-08002be10318"),
    ("NetClient", "4d36e973-e325-11ce-bfc1-08002be10318"),
    ("NetService", "4d36e974-e325-11ce-bfc1-08002be10318"),
    ("NetTrans", "4d36e975-e325-11ce-bfc1-08002be10318"),
    ("PCMCIA", "4d36e977-e325-11ce-bfc1-08002be10318"),
    ("PNPPrinters", "4658ee7e-f050-11d1-b6bd-00c04fa372a7"),
    ("Ports", "4d36e978-e325-11ce-bfc1-08002be10318"),
    ("Printer", "4d36e979-e325-11ce-bfc1-08002be10318"),
    ("Processor", "50127dc3-0f36-415e-a6cc-4cb3be910b65"),
    ("SBP2", "d48179be-ec20-11d1-b6b8-00c04fa372a7"),
    ("SCSIAdapter", "4d36e97b-e325-11ce-bfc1-08002be10318"),
    ("SecurityAccelerator", "268c95a1-edfe-11d3-95c3-0010dc4050a5"),
    ("Sensor", "5175d334-c371-4806-b3ba-71fd53c9258d"),
    ("SideShow", "997b5d8d-c442-4f2e-baf3-9c8e671e9e21"),
    ("SmartCardReader", "50dd5230-ba8a-11d1-bf5d-0000f805f530"),
    ("SoftwareComponent", "5c4c3332-344d-483c-8739-259e934c9cc8"),
    ("System", "4d36e97d-e325-11ce-bfc1-08002be10318"),
    ("TapeDrive", "6d807884-7d21-11cf-801c-08002be10318"),
    ("USBDevice", "88bae032-5a81-49f0-bc3d-a4ff138216d6"),
    ("Volume", "71a27cdd-812a-11d0-bec7-08002be2092f"),
    ("WCEUSBS", "25dbce51-6c8f-4a72-8a6d-b54c2b4fc835"),
    ("WPD", "eec5ad98-8080-425f-922a-dabf3de3f69a"),
];

/// Finds the class with this name or this GUID in a list.
pub(super) fn find(list: &'static [Class], name: &str, id: &str) -> Option<&'static Class> {
    let id = id.trim_matches(['{', '}']);
    list.iter().find(|class| class.0.eq_ignore_ascii_case(name) || class.1.eq_ignore_ascii_case(id))
}
