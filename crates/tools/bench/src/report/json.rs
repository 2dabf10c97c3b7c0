//! Writes the report as JSON and reads it.

use serde_json::{Map, Value, json};

use super::{Bound, Cell, Goal, Report, Row, Section};

/// The version of the file's layout.
const FORMAT: u64 = 1;

/// Converts the report to JSON.
#[must_use]
pub fn to_json(report: &Report) -> Value {
    let machine: Vec<Value> = report.machine.iter().map(|(name, value)| json!([name, value])).collect();
    json!({
        "format": FORMAT,
        "quick": report.quick,
        "machine": machine,
        "sections": report.sections.iter().map(section).collect::<Vec<_>>(),
        "goals": report.goals.iter().map(goal).collect::<Vec<_>>(),
    })
}

fn section(section: &Section) -> Value {
    let rows: Vec<Value> = section
        .rows
        .iter()
        .map(|row| json!({ "cells": row.cells.iter().map(cell).collect::<Vec<_>>(), "how": row.how }))
        .collect();
    json!({
        "id": section.id,
        "title": section.title,
        "text": section.text,
        "columns": section.columns,
        "rows": rows,
    })
}

fn cell(cell: &Cell) -> Value {
    match cell {
        Cell::Text(text) => json!(text),
        Cell::Number(value, digits) => json!({ "value": value, "digits": digits }),
        Cell::Empty => Value::Null,
    }
}

fn goal(goal: &Goal) -> Value {
    json!({
        "what": goal.what,
        "limit": goal.limit,
        "bound": if goal.bound == Bound::AtMost { "at most" } else { "at least" },
        "measured": goal.measured,
        "everywhere": goal.everywhere,
        "note": goal.note,
        "why": goal.why,
    })
}

/// Reads the report from JSON.
///
/// # Errors
///
/// Returns what is missing or has the wrong type.
pub fn from_json(value: &Value) -> Result<Report, String> {
    let file = object(value, "the file")?;
    if file.get("format").and_then(Value::as_u64) != Some(FORMAT) {
        return Err(format!("the file's format is not {FORMAT}"));
    }
    let pair = |value: &Value| match value.as_array().map(Vec::as_slice) {
        Some([name, value]) => Ok((words(name, "name")?, words(value, "value")?)),
        _ => Err(String::from("a line about the machine is not a pair")),
    };
    Ok(Report {
        quick: file.get("quick").and_then(Value::as_bool).unwrap_or_default(),
        machine: list(file, "machine")?.iter().map(pair).collect::<Result<_, _>>()?,
        sections: list(file, "sections")?.iter().map(read_section).collect::<Result<_, _>>()?,
        goals: list(file, "goals")?.iter().map(read_goal).collect::<Result<_, _>>()?,
    })
}

fn read_section(value: &Value) -> Result<Section, String> {
    let section = object(value, "a section")?;
    let column = |value: &Value| words(value, "a column's name");
    Ok(Section {
        id: field(section, "id")?,
        title: field(section, "title")?,
        text: field(section, "text")?,
        columns: list(section, "columns")?.iter().map(column).collect::<Result<_, _>>()?,
        rows: list(section, "rows")?.iter().map(read_row).collect::<Result<_, _>>()?,
    })
}

fn read_row(value: &Value) -> Result<Row, String> {
    let row = object(value, "a row")?;
    Ok(Row { cells: list(row, "cells")?.iter().map(read_cell).collect::<Result<_, _>>()?, how: field(row, "how")? })
}

fn read_cell(value: &Value) -> Result<Cell, String> {
    match value {
        Value::Null => Ok(Cell::Empty),
        Value::String(text) => Ok(Cell::Text(text.clone())),
        Value::Object(number) => {
            let digits = number.get("digits").and_then(Value::as_u64).and_then(|digits| u8::try_from(digits).ok());
            let value = number.get("value").and_then(Value::as_f64);
            value
                .zip(digits)
                .map(|(value, digits)| Cell::Number(value, digits))
                .ok_or_else(|| "a cell is not a number".into())
        }
        _ => Err("a cell is neither text nor a number".into()),
    }
}

fn read_goal(value: &Value) -> Result<Goal, String> {
    let goal = object(value, "a goal")?;
    let bound = match field(goal, "bound")?.as_str() {
        "at most" => Bound::AtMost,
        "at least" => Bound::AtLeast,
        other => return Err(format!("unknown bound `{other}`")),
    };
    Ok(Goal {
        what: field(goal, "what")?,
        limit: goal.get("limit").and_then(Value::as_f64).ok_or("a goal has no limit")?,
        bound,
        measured: goal.get("measured").and_then(Value::as_f64),
        everywhere: goal.get("everywhere").and_then(Value::as_bool).unwrap_or_default(),
        note: field(goal, "note")?,
        why: field(goal, "why")?,
    })
}

fn object<'a>(value: &'a Value, what: &str) -> Result<&'a Map<String, Value>, String> {
    value.as_object().ok_or_else(|| format!("{what} is not an object"))
}

fn list<'a>(object: &'a Map<String, Value>, name: &str) -> Result<&'a Vec<Value>, String> {
    object.get(name).and_then(Value::as_array).ok_or_else(|| format!("the list `{name}` is missing"))
}

fn field(object: &Map<String, Value>, name: &str) -> Result<String, String> {
    words(object.get(name).unwrap_or(&Value::Null), name)
}

fn words(value: &Value, what: &str) -> Result<String, String> {
    value.as_str().map(String::from).ok_or_else(|| format!("`{what}` is not text"))
}

#[cfg(test)]
mod tests {
    use super::super::tests::sample;
    use super::{from_json, to_json};
    use serde_json::json;

    #[test]
    fn a_written_report_is_read_again() {
        let text = to_json(&sample()).to_string();
        assert_eq!(from_json(&serde_json::from_str(&text).unwrap()), Ok(sample()));
    }

    #[test]
    fn other_json_is_rejected_with_the_reason() {
        assert!(from_json(&json!([])).unwrap_err().contains("not an object"));
        assert!(from_json(&json!({ "format": 2 })).unwrap_err().contains("format"));
        assert!(from_json(&json!({ "format": 1 })).unwrap_err().contains("`machine`"));
        let mut damaged = to_json(&sample());
        damaged["goals"][0]["bound"] = json!("about");
        assert!(from_json(&damaged).unwrap_err().contains("`about`"));
        damaged["sections"][0]["rows"][0]["cells"][1] = json!(true);
        assert!(from_json(&damaged).is_err());
    }
}
