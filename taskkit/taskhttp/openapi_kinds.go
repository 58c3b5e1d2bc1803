package taskhttp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// startID returns an operation id that no other start has: the id of a kind which is started at several
// paths has the path, but for the first.
func startID(taken map[string]bool, st start) string {
	id := "start_" + st.name
	if taken[id] {
		id += "_" + strings.Trim(notOfID.ReplaceAllString(st.path, "_"), "_")
	}
	for base, n := id, 2; taken[id]; n++ {
		id = fmt.Sprintf("%s_%d", base, n)
	}
	taken[id] = true
	return id
}

// notOfID matches what an operation id does not have, since programs make names of it.
var notOfID = regexp.MustCompile(`[^A-Za-z0-9]+`)

// hoistedKind are references to the schemas of a kind.
type hoistedKind struct{ spec, result object }

// hoistKind puts the schemas of a kind into the components.
func hoistKind(schemas object, st start) (k hoistedKind, err error) {
	// The names of both are taken before definitions of the same name are.
	spec, result := st.name+"_Spec", st.name+"_Result"
	schemas[spec], schemas[result] = nil, nil
	if k.spec, err = hoist(schemas, spec, st.name+"_", st.spec); err != nil {
		return k, fmt.Errorf("taskhttp: the schema of the spec of %s: %w", st.name, err)
	}
	if k.result, err = hoist(schemas, result, st.name+"_Result_", st.outcome); err != nil {
		return k, fmt.Errorf("taskhttp: the schema of the result of %s: %w", st.name, err)
	}
	return k, nil
}

// hoist puts a JSON Schema and its definitions into the components and returns a
// reference to it. Without a schema anything is allowed. Numbers stay as they are written.
func hoist(schemas object, name, prefix string, raw []byte) (object, error) {
	if raw == nil {
		delete(schemas, name)
		return object{}, nil
	}
	var root object
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if err := decoder.Decode(&root); err != nil {
		return nil, err
	}
	definitions, _ := root["$defs"].(object)
	for _, member := range []string{"$defs", "$schema", "$id", "$comment"} {
		delete(root, member)
	}
	components := make(map[string]string, len(definitions))
	if text, ok := root["$ref"].(string); ok && len(root) == 1 { // the schema is one of its definitions, under the name of the whole
		def, _ := strings.CutPrefix(text, "#/$defs/")
		if whole, ok := definitions[def].(object); ok {
			delete(definitions, def)
			root, components[def] = whole, name
		}
	}
	for _, def := range slices.Sorted(maps.Keys(definitions)) {
		component := prefix + componentName(def)
		for base, n := component, 2; isTaken(schemas, component); n++ {
			component = fmt.Sprintf("%s_%d", base, n)
		}
		components[def], schemas[component] = component, definitions[def]
	}
	refer := func(ref string) string {
		if ref == "#" {
			return "#/components/schemas/" + name
		}
		if def, ok := strings.CutPrefix(ref, "#/$defs/"); ok {
			return "#/components/schemas/" + components[strings.NewReplacer("~1", "/", "~0", "~").Replace(def)]
		}
		return ref
	}
	schemas[name] = root
	rewrite(root, refer)
	for def := range definitions {
		rewrite(schemas[components[def]], refer)
	}
	return ref(name), nil
}

// isTaken reports whether a component has a name, or will have it.
func isTaken(schemas object, name string) bool {
	_, taken := schemas[name]
	return taken
}

// componentName returns a name with the characters that names of components may have.
func componentName(name string) string {
	return strings.Map(func(c rune) rune {
		if c == '.' || c == '-' || c == '_' || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' {
			return c
		}
		return '_'
	}, name)
}

// rewrite changes the references of a schema.
func rewrite(v any, refer func(string) string) {
	switch v := v.(type) {
	case object:
		for name, member := range v {
			if text, ok := member.(string); ok && name == "$ref" {
				v[name] = refer(text)
				continue
			}
			rewrite(member, refer)
		}
	case []any:
		for _, member := range v {
			rewrite(member, refer)
		}
	}
}

// startedResponse is an answer with a job that was started.
func startedResponse(description string) object {
	r := jobResponse(description)
	headers, _ := r["headers"].(object)
	headers["Location"] = object{"description": "the path of the job", "schema": textSchema}
	headers["Idempotent-Replayed"] = object{"description": "true: an earlier request has started it", "schema": textSchema}
	return r
}

// startOperation describes the start of jobs of a kind.
func startOperation(st start, id string, spec object) object {
	parameters := []any{
		parameter("header", "Idempotency-Key", "All requests with the same key and body start one job.", keySchema),
		prefer,
	}
	if st.previews {
		parameters = append(parameters, parameter("query", "preview", "true: change nothing, and find out what would be changed", object{"type": "boolean", "default": false}))
	}
	return object{
		"operationId": id, "summary": "Start: " + st.title, "tags": []string{"start"},
		"parameters":  parameters,
		"requestBody": object{"required": true, "content": content(mediaJSON, spec)},
		"responses": responses(object{"202": startedResponse("The job is started."), "200": startedResponse("The job is started and done already.")},
			ErrBadParameter, ErrNotJSON, ErrNoSuchJob, ErrKeyTaken, ErrRetired, ErrBodyTooLarge, ErrMediaType, ErrSpec, ErrKeyReused, ErrTooManyRequests, ErrShuttingDown),
	}
}

// fetchProblems are the problems of a fetch.
var fetchProblems = []*Error{ErrBadParameter, ErrNoSuchJob, ErrNotDone, ErrDeleted, ErrExpired, ErrJobFailed}

// fetchOperation describes the fetch of a result of any kind.
func (s *Server) fetchOperation(operation func(name, summary string, parameters []any, answers object) object) object {
	s.mu.Lock()
	defer s.mu.Unlock()
	const summary = "Fetch the result, or its file, if the link result of the job has file"
	if len(s.files) == 0 {
		return operation("fetch", "Fetch the result", nil, responses(resultResponses(object{}), fetchProblems...))
	}
	answers := fileResponses()
	ok, _ := answers["200"].(object)
	ok["content"] = object{mediaJSON: object{"schema": object{}}, "*/*": object{"schema": fileSchema}}
	return operation("fetch", summary, fileParameters, responses(answers, append(fetchProblems, ErrRange)...))
}

// fetchOfKind describes the fetch of a result of a kind.
func fetchOfKind(st start, result object, file bool) object {
	id := object{"in": "path", "name": "id", "required": true, "schema": idSchema, "description": "the id of a job of the kind"}
	operation := tagged("jobs")
	name, summary := "fetch_"+st.name, "Fetch the result of: "+st.title
	if file {
		return object{"parameters": []any{id}, "get": operation(name, summary, fileParameters, responses(fileResponses(), append(fetchProblems, ErrRange)...))}
	}
	return object{"parameters": []any{id}, "get": operation(name, summary, nil, responses(resultResponses(result), fetchProblems...))}
}

// resultResponses are the answers with a result of a schema.
func resultResponses(schema object) object {
	return object{
		"200": object{"description": "The result.", "content": content(mediaJSON, schema)},
		"204": object{"description": "The job has no result."},
	}
}

var (
	fileSchema     = object{"type": "string", "format": "binary"}
	fileParameters = []any{
		parameter("header", "Range", "a range of the file, such as bytes=1000-", textSchema),
		parameter("header", "If-Range", "the ETag of the file of which you have a part", textSchema),
	}
)

// fileResponses are the answers with the file of a result.
func fileResponses() object {
	headers := object{
		"Content-Disposition": object{"description": "the name of the file", "schema": textSchema},
		"ETag":                object{"description": "for If-Range", "schema": textSchema},
	}
	answer := func(description string) object {
		return object{"description": description, "content": content("*/*", fileSchema), "headers": headers}
	}
	return object{
		"200": answer("The file."), "206": answer("The range of the file."),
		"204": object{"description": "The job has no result."}, "304": object{"description": "It has not changed."},
	}
}
