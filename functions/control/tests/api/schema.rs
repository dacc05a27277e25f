//! Answers against the schemas that docs/openapi.json publishes.

use std::sync::OnceLock;

use serde_json::Value;

fn schemas() -> &'static Value {
    static PARTS: OnceLock<Value> = OnceLock::new();
    PARTS.get_or_init(|| {
        let parts: Value = serde_json::from_str(include_str!("../../openapi/parts.json")).unwrap();
        parts["schemas"].clone()
    })
}

/// Panics unless `value` is of the schema of that name. Patterns and formats are not looked at.
pub(crate) fn conforms(name: &str, value: &Value) {
    if let Err(fault) = fits(&schemas()[name], value, name) {
        panic!("{fault}: {value}");
    }
}

fn fits(schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    assert!(schema.is_object(), "{at}: no such schema");
    if let Some(path) = schema["$ref"].as_str() {
        let name = path.rsplit('/').next().unwrap();
        return fits(&schemas()[name], value, &format!("{at} ({name})"));
    }
    if let Some(any) = schema["anyOf"].as_array() {
        let fitting = any.iter().any(|schema| fits(schema, value, at).is_ok());
        return if fitting { Ok(()) } else { Err(format!("{at}: none of those allowed")) };
    }
    let typed = match schema["type"].as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("integer") => value.is_u64(),
        Some("boolean") => value.is_boolean(),
        Some("null") => value.is_null(),
        Some(other) => panic!("{at}: what is {other}?"),
        None => true,
    };
    if !typed {
        return Err(format!("{at}: another type"));
    }
    if schema["enum"].as_array().is_some_and(|values| !values.contains(value)) {
        return Err(format!("{at}: not one of those listed"));
    }
    for item in value.as_array().into_iter().flatten() {
        fits(&schema["items"], item, &format!("{at}[]"))?;
    }
    members(schema, value, at)
}

fn members(schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    let Some(members) = value.as_object().filter(|_| schema["properties"].is_object()) else { return Ok(()) };
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !members.contains_key(name) {
            return Err(format!("{at}: {name} is missing"));
        }
    }
    for (name, member) in members {
        match schema["properties"].get(name) {
            Some(schema) => fits(schema, member, &format!("{at}.{name}"))?,
            None if schema["additionalProperties"] == Value::Bool(false) => {
                return Err(format!("{at}: {name} is not described"));
            }
            None => {}
        }
    }
    Ok(())
}
