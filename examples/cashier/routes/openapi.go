package routes

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// object is a JSON object. Its keys are sorted when it is written, so that
// equal routes give equal bytes.
type object = map[string]any

// OpenAPI returns the OpenAPI 3.1 document of routes.
func OpenAPI(table []Route) ([]byte, error) {
	paths := object{}
	schemas := object{}
	for _, route := range table {
		operation, err := describe(route, schemas)
		if err != nil {
			return nil, fmt.Errorf("describing %s: %w", route.Operation, err)
		}
		path, ok := paths[route.Path].(object)
		if !ok {
			path = object{}
			paths[route.Path] = path
		}
		path[strings.ToLower(route.Method)] = operation
	}
	document, err := json.MarshalIndent(object{
		"openapi":    "3.1.0",
		"info":       object{"title": "Cashier Workflows", "version": "1.0.0"},
		"paths":      paths,
		"components": object{"schemas": schemas},
	}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing the document: %w", err)
	}
	return append(document, '\n'), nil
}

func describe(route Route, schemas object) (object, error) {
	response, err := schema(route.Response, schemas)
	if err != nil {
		return nil, err
	}
	problem, err := schema(reflect.TypeFor[Problem](), schemas)
	if err != nil {
		return nil, err
	}
	operation := object{
		"operationId": route.Operation,
		"summary":     route.Summary,
		"responses": object{
			strconv.Itoa(route.Status): object{"description": "Done", "content": body(response)},
			"4XX":                      object{"description": "Refused", "content": body(problem)},
		},
	}
	if strings.Contains(route.Path, "{id}") {
		operation["parameters"] = []object{{
			"name": "id", "in": "path", "required": true, "schema": object{"type": "integer", "minimum": 1},
		}}
	}
	if route.Request != nil {
		request, err := schema(route.Request, schemas)
		if err != nil {
			return nil, err
		}
		operation["requestBody"] = object{"required": true, "content": body(request)}
	}
	return operation, nil
}

func body(schema object) object {
	return object{"application/json": object{"schema": schema}}
}

// schema describes a type. A struct is put into schemas once and referred to.
func schema(t reflect.Type, schemas object) (object, error) {
	switch t.Kind() {
	case reflect.Int64:
		return object{"type": "integer"}, nil
	case reflect.String:
		return object{"type": "string"}, nil
	case reflect.Pointer:
		of, err := schema(t.Elem(), schemas)
		if err != nil {
			return nil, err
		}
		return object{"anyOf": []object{of, {"type": "null"}}}, nil
	case reflect.Slice:
		of, err := schema(t.Elem(), schemas)
		return object{"type": "array", "items": of}, err
	case reflect.Struct:
		return reference(t, schemas)
	default:
		return nil, fmt.Errorf("type %s has no schema", t)
	}
}

func reference(t reflect.Type, schemas object) (object, error) {
	// Two packages may have a type of the same name.
	name := strings.ReplaceAll(t.String(), ".", "_")
	if _, known := schemas[name]; !known {
		properties := object{}
		required := []string{}
		schemas[name] = object{}
		for _, field := range reflect.VisibleFields(t) {
			if field.Anonymous {
				continue
			}
			property, err := schema(field.Type, schemas)
			if err != nil {
				return nil, fmt.Errorf("field %s of %s: %w", field.Name, t, err)
			}
			key, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			properties[key] = property
			required = append(required, key)
		}
		schemas[name] = object{"type": "object", "properties": properties, "required": required}
	}
	return object{"$ref": "#/components/schemas/" + name}, nil
}
