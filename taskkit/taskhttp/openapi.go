package taskhttp

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"taskkit.dev/taskkit"
)

// object is JSON that is put together here. Its names are written in order.
type object = map[string]any

const (
	mediaJSON    = "application/json"
	mediaProblem = "application/problem+json"
	mediaSchema  = "application/schema+json"
	mediaNDJSON  = "application/x-ndjson"
	mediaCSV     = "text/csv; charset=utf-8"
	mediaEvents  = "text/event-stream"
)

// OpenAPI returns the OpenAPI 3.1.1 document of the server, with a path for each kind
// that clients may start. The schemas of kinds are hoisted into its components, as KIND_Spec and
// KIND_Result, and their definitions as KIND_NAME and KIND_Result_NAME.
func (s *Server) OpenAPI() ([]byte, error) {
	s.mu.Lock()
	starts := slices.Clone(s.starts)
	s.mu.Unlock()
	schemas, paths := commonSchemas(), s.jobPaths()
	if s.config.Operator != nil {
		s.describeOperators(schemas, paths)
	}
	for _, st := range starts {
		spec, err := hoist(schemas, st.name+"_Spec", st.name+"_", st.spec)
		if err != nil {
			return nil, fmt.Errorf("taskhttp: the schema of the spec of %s: %w", st.name, err)
		}
		if _, err := hoist(schemas, st.name+"_Result", st.name+"_Result_", st.outcome); err != nil {
			return nil, fmt.Errorf("taskhttp: the schema of the result of %s: %w", st.name, err)
		}
		paths[st.path] = object{"post": startOperation(st, spec)}
	}
	return json.MarshalIndent(object{
		"openapi":           "3.1.1",
		"jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
		"info": object{
			"title": "Jobs", "version": "1",
			"description": "Start, watch, fetch, stop and delete jobs. Each call may be answered with problems that are not listed with it: 401, 403, 500 and 503.",
		},
		"paths":      paths,
		"components": object{"schemas": schemas, "responses": object{"Problem": problemResponse("A problem")}},
	}, "", "  ")
}

// openapi sends the document.
func (s *Server) openapi(w http.ResponseWriter, r *http.Request, _ Caller) error {
	if _, err := query(r); err != nil {
		return err
	}
	document, err := s.OpenAPI()
	if err != nil {
		return err
	}
	return sendSchema(w, r, "application/vnd.oai.openapi+json;version=3.1", document)
}

// schema sends the JSON Schema of the spec of a kind that clients may start.
func (s *Server) schema(w http.ResponseWriter, r *http.Request, _ Caller) error {
	k, ok := s.kind(r.PathValue("kind"))
	if !ok || k.spec == nil {
		return ErrNoSuchPath
	}
	if _, err := query(r); err != nil {
		return err
	}
	return sendSchema(w, r, mediaSchema, k.spec)
}

func sendSchema(w http.ResponseWriter, r *http.Request, mediaType string, body []byte) error {
	sendTagged(w, r, mediaType, digest(string(body)), body)
	return nil
}

// sendTagged sends a document, unless the client has it.
func sendTagged(w http.ResponseWriter, r *http.Request, mediaType, tag string, body []byte) {
	w.Header().Set("ETag", `"`+tag+`"`)
	if entityTags(r.Header.Values("If-None-Match")).match(tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	// Who does not read it any more need not be told.
	_, _ = w.Write(body)
}

// hoist puts a JSON Schema and its definitions into the components and returns a
// reference to it. Without a schema anything is allowed.
func hoist(schemas object, name, prefix string, raw []byte) (object, error) {
	if raw == nil {
		return object{}, nil
	}
	var root object
	if err := json.Unmarshal(raw, &root); err != nil {
		return nil, err
	}
	definitions, _ := root["$defs"].(object)
	delete(root, "$defs")
	delete(root, "$schema")
	delete(root, "$id")
	delete(root, "$comment")
	refer := func(ref string) string {
		if ref == "#" {
			return "#/components/schemas/" + name
		}
		if def, ok := strings.CutPrefix(ref, "#/$defs/"); ok {
			return "#/components/schemas/" + prefix + componentName(def)
		}
		return ref
	}
	rewrite(root, refer)
	schemas[name] = root
	for def, schema := range definitions {
		rewrite(schema, refer)
		schemas[prefix+componentName(def)] = schema
	}
	return ref(name), nil
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

func ref(schema string) object { return object{"$ref": "#/components/schemas/" + schema} }

func content(mediaType string, schema object) object {
	return object{mediaType: object{"schema": schema}}
}

func problemResponse(description string) object {
	return object{
		"description": description, "content": content(mediaProblem, ref("Problem")),
		"headers": object{"Retry-After": object{"description": "seconds until another try, if it passes", "schema": object{"type": "integer"}}},
	}
}

// jobResponse is an answer with a job.
func jobResponse(description string) object {
	return object{
		"description": description, "content": content(mediaJSON, ref("Job")),
		"headers": object{
			"ETag":        object{"description": "the revision", "schema": object{"type": "string"}},
			"Retry-After": object{"description": "seconds until it is worth asking again, of a job that is not done", "schema": object{"type": "integer"}},
		},
	}
}

// responses adds to answers the problems that a call has, and those that each may have.
func responses(answers object, problems ...*Error) object {
	byStatus := map[int][]string{}
	for _, p := range append(problems, ErrUnauthenticated, ErrForbidden, ErrCrossOrigin, ErrInternal, ErrUnavailable) {
		byStatus[p.Status] = append(byStatus[p.Status], strings.TrimPrefix(p.Type, problemBase))
	}
	for status, names := range byStatus {
		answers[strconv.Itoa(status)] = problemResponse(strings.Join(slices.Compact(slices.Sorted(slices.Values(names))), ", "))
	}
	return answers
}

// parameter describes a parameter in the query or in a header.
func parameter(in, name, description string, schema object) object {
	return object{"in": in, "name": name, "description": description, "schema": schema}
}

var (
	textSchema     = object{"type": "string"}
	reasonSchema   = object{"type": "string", "maxLength": maxReason, "description": "why, for those who operate the service"}
	flagSchema     = object{"type": "boolean"}
	countSchema    = object{"type": "integer", "minimum": 0}
	numberSchema   = object{"type": "number", "minimum": 0}
	timeSchema     = object{"type": "string", "format": "date-time"}
	idSchema       = object{"type": "string", "format": "uuid"}
	durationSchema = object{"type": "string", "pattern": `^(0|([0-9]+(\.[0-9]+)?(h|m|s|ms|us|ns))+)$`}
	periodSchema   = object{"type": "string", "pattern": `^(0|([0-9]+(\.[0-9]+)?(h|m|s|ms|us|ns))*)$`}
	cursorSchema   = object{"type": "string", "pattern": `^([0-7][0-9a-f]{47}[0-7][0-9a-f]{15}[0-7][0-9a-f]{15})?$`}
	kindSchema     = object{"type": "string", "pattern": `^([a-z][a-z0-9_]{0,62})?$`}
	// Bare or as RFC 9651 writes a text, in quotes.
	keySchema = object{"type": "string", "minLength": 1, "maxLength": maxKey, "pattern": `^("[ -~]+"|[!#-~]([ -~]*[!-~])?)$`}
	prefer    = parameter("header", "Prefer", "wait=N waits N seconds at most", textSchema)
)

// reasonBody is the body of requests that take a reason.
var reasonBody = object{"content": content(mediaJSON, object{
	"type": "object", "additionalProperties": false,
	"properties": object{"reason": reasonSchema},
})}

// startOperation describes the start of jobs of a kind.
func startOperation(st start, spec object) object {
	accepted := jobResponse("The job is started.")
	headers, _ := accepted["headers"].(object)
	headers["Location"] = object{"description": "the path of the job", "schema": textSchema}
	headers["Idempotent-Replayed"] = object{"description": "true: an earlier request with the key has started it", "schema": textSchema}
	finished := maps.Clone(accepted)
	finished["description"] = "The job is started and done already."
	parameters := []any{
		parameter("header", "Idempotency-Key", "All requests with the same key and body start one job.", keySchema),
		prefer,
	}
	if st.previews {
		parameters = append(parameters, parameter("query", "preview", "true: change nothing, and find out what would be changed", object{"type": "boolean", "default": false}))
	}
	return object{
		"operationId": "start_" + st.name, "summary": "Start: " + st.title, "tags": []string{"start"},
		"parameters":  parameters,
		"requestBody": object{"required": true, "content": content(mediaJSON, spec)},
		"responses": responses(object{"202": accepted, "200": finished},
			ErrBadParameter, ErrNotJSON, ErrNoSuchJob, ErrKeyTaken, ErrRetired, ErrBodyTooLarge, ErrMediaType, ErrSpec, ErrKeyReused, ErrShuttingDown),
	}
}

// tagged returns what describes calls with a tag.
func tagged(tag string) func(name, summary string, parameters []any, answers object) object {
	return func(name, summary string, parameters []any, answers object) object {
		return object{"operationId": name, "summary": summary, "tags": []string{tag}, "parameters": append([]any{}, parameters...), "responses": answers}
	}
}

// jobPaths describes the calls of jobs.
func (s *Server) jobPaths() object {
	p := s.config.Prefix
	id := object{"in": "path", "name": "id", "required": true, "schema": idSchema, "description": "the id of a job"}
	operation := tagged("jobs")
	paths := object{
		p: object{"get": operation("list", "List your jobs, newest first", []any{
			parameter("query", "kind", "only of this kind", kindSchema),
			parameter("query", "status", "only with this status", ref("Status")),
			parameter("query", "limit", "the greatest number of jobs", object{"type": "integer", "minimum": 1, "maximum": maxPage, "default": defaultPage}),
			parameter("query", "cursor", "next of the page before", idSchema),
		}, responses(object{"200": object{"description": "A page of jobs.", "content": content(mediaJSON, ref("Page"))}}, ErrBadParameter))},
		p + "/{id}": object{
			"parameters": []any{id},
			"get": operation("watch", "Watch a job", []any{
				parameter("query", "maximumPollingPeriod", "wait so long at most for a change, up to 60s", durationSchema),
				parameter("query", "progressPeriod", "return with progress too, after 250ms to 50s; empty: 1s", periodSchema),
				parameter("query", "since", "the revision that you have", object{"type": "string", "pattern": revisionForm.String()}),
				prefer, parameter("header", "If-None-Match", "the ETag that you have", textSchema),
			}, responses(object{"200": jobResponse("The job."), "304": object{"description": "It has not changed."}},
				ErrBadParameter, ErrNoSuchJob, ErrTooManyWaits)),
			"patch":  settingsOperation(operation),
			"delete": operation("delete", "Delete a job and its result, irrevocably", nil, responses(object{"204": object{"description": "There is no such job now, or soon."}}, ErrBadParameter)),
		},
		p + "/{id}/events": object{
			"parameters": []any{id},
			"get": operation("events", "Watch a job by server-sent events, until it is done", []any{
				parameter("query", "progressPeriod", "an event for progress each 250ms to 50s at most; 1s without it", periodSchema),
				parameter("header", "Last-Event-ID", "the revision that you have", textSchema),
			}, responses(object{
				"200": object{"description": "A stream with a Job as the data and its revision as the id of each event.", "content": content(mediaEvents, textSchema)},
				"204": object{"description": "The job is done, and you have its last revision."},
			}, ErrBadParameter, ErrNoSuchJob, ErrTooManyWaits)),
		},
		p + "/{id}/result": object{
			"parameters": []any{id},
			"get":        s.fetchOperation(operation),
		},
		p + "/{id}/items": object{
			"parameters": []any{id},
			"get": operation("items", "List items of a job", []any{
				parameter("query", "outcome", "only items with this outcome; failed without it", object{"type": "string", "enum": outcomes, "default": taskkit.OutcomeFailed}),
				parameter("query", "limit", "the greatest number of items", object{"type": "integer", "minimum": 1, "maximum": maxItems, "default": defaultItems}),
				parameter("query", "cursor", "next of the page before, which is in the header Link too", cursorSchema),
			}, responses(object{"200": itemsResponse()}, ErrBadParameter, ErrNoSuchJob, ErrNotAcceptable, ErrNotPossible, ErrDeleted)),
		},
		p + "/{id}/preview": object{
			"parameters": []any{id},
			"get": operation("preview", "Read what a preview has found", nil, responses(
				object{"200": object{"description": "What the job would do.", "content": content(mediaJSON, ref("Preview"))}},
				ErrBadParameter, ErrNoSuchJob, ErrNotPossible, ErrDeleted)),
		},
		p + "/openapi.json": object{"get": operation("openapi", "This document", nil, schemaResponses("application/vnd.oai.openapi+json;version=3.1"))},
		p + "/element.js": object{"get": operation("element", "The custom element taskkit-job for web pages", nil, responses(object{
			"200": object{"description": "The script.", "content": content("text/javascript; charset=utf-8", textSchema)},
			"304": object{"description": "It has not changed."},
		}, ErrBadParameter))},
		p + "/kinds/{kind}/schema": object{
			"parameters": []any{object{"in": "path", "name": "kind", "required": true, "schema": textSchema, "description": "the name of a kind"}},
			"get":        operation("schema", "The JSON Schema of a spec", nil, schemaResponses(mediaSchema)),
		},
	}
	for _, c := range changes {
		o := operation(string(c.op), "Make the request: "+string(c.op), nil, responses(
			object{"202": jobResponse("It is requested."), "200": jobResponse("It has no effect.")},
			ErrBadParameter, ErrNotJSON, ErrNoSuchJob, ErrNotPossible, ErrKeyTaken, ErrBodyTooLarge, ErrMediaType))
		o["requestBody"] = reasonBody
		paths[p+"/{id}/"+string(c.op)] = object{"parameters": []any{id}, "post": o}
	}
	return paths
}

// fetchOperation describes the fetch of a result.
func (s *Server) fetchOperation(operation func(name, summary string, parameters []any, answers object) object) object {
	result := object{"description": "The result, of the schema KIND_Result.", "content": content(mediaJSON, object{})}
	answers := object{"200": result, "204": object{"description": "The job has no result."}}
	problems := []*Error{ErrBadParameter, ErrNoSuchJob, ErrNotDone, ErrDeleted, ErrExpired, ErrJobFailed}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.files) == 0 {
		return operation("fetch", "Fetch the result", nil, responses(answers, problems...))
	}
	file := object{
		"Content-Disposition": object{"description": "the name of the file", "schema": textSchema},
		"ETag":                object{"description": "for If-Range", "schema": textSchema},
	}
	result["description"] = "The result, of the schema KIND_Result, or its file, if the link result of the job has file."
	result["content"] = object{mediaJSON: object{"schema": object{}}, "*/*": object{"schema": textSchema}}
	result["headers"] = file
	answers["206"] = object{"description": "The range of the file.", "content": content("*/*", textSchema), "headers": file}
	answers["304"] = object{"description": "It has not changed."}
	return operation("fetch", "Fetch the result", []any{
		parameter("header", "Range", "a range of the file, such as bytes=1000-", textSchema),
		parameter("header", "If-Range", "the ETag of the file of which you have a part", textSchema),
	}, responses(answers, append(problems, ErrRange)...))
}

// settingsOperation describes the change of settings.
func settingsOperation(operation func(name, summary string, parameters []any, answers object) object) object {
	o := operation(string(OpChange), "Change settings of a job, all that are given or none", nil, responses(
		object{"200": jobResponse("They are changed, and take effect with the next batch.")},
		ErrBadParameter, ErrNotJSON, ErrNoSuchJob, ErrNotPossible, ErrBodyTooLarge, ErrMediaType))
	o["requestBody"] = object{"required": true, "content": content(mediaJSON, ref("Settings"))}
	return o
}

// itemsResponse is a page of items in all its media types.
func itemsResponse() object {
	return object{
		"description": "A page of items: in NDJSON an Item on each line, in CSV the columns item, outcome and code.",
		"content": object{
			mediaJSON: object{"schema": ref("ItemsPage")}, mediaNDJSON: object{"schema": textSchema}, mediaCSV: object{"schema": textSchema},
		},
		"headers": object{"Link": object{"description": "the next page, if there is one", "schema": textSchema}},
	}
}

func schemaResponses(mediaType string) object {
	return responses(object{
		"200": object{"description": "The document.", "content": content(mediaType, object{"type": "object"})},
		"304": object{"description": "It has not changed."},
	}, ErrBadParameter, ErrNoSuchPath)
}

// nothingElse is an object with these properties and no others.
func nothingElse(o object, required ...string) object {
	return object{"type": "object", "properties": o, "required": required, "additionalProperties": false}
}

// commonSchemas describe what this package sends.
func commonSchemas() object {
	return object{
		"Status": object{"type": "string", "enum": Statuses()},
		"Link":   nothingElse(object{"method": textSchema, "href": textSchema, "file": flagSchema}, "method", "href"),
		"Progress": nothingElse(object{
			"total": countSchema, "processed": countSchema, "succeeded": countSchema, "failed": countSchema, "skipped": countSchema, "remaining": countSchema,
			"percent": object{"type": "number", "minimum": 0, "maximum": 100}, "ratePerSecond": numberSchema,
			"etaSeconds": object{"type": "array", "items": numberSchema, "minItems": 2, "maxItems": 2},
		}, "processed", "succeeded", "failed", "skipped"),
		"JobError": nothingElse(object{"code": textSchema, "title": textSchema}, "code", "title"),
		"Job": nothingElse(object{
			"id": idSchema, "kind": textSchema, "title": textSchema, "revision": textSchema, "status": ref("Status"),
			"reason": object{"type": "string", "enum": []string{reasonWorker, reasonTime, reasonPaused}},
			"done":   flagSchema, "fetchable": flagSchema, "paused": flagSchema, "partial": flagSchema, "preview": flagSchema,
			"createdAt": timeSchema, "startedAt": timeSchema, "finishedAt": timeSchema, "expiresAt": timeSchema, "elapsedMs": countSchema,
			"progress": object{"anyOf": []any{ref("Progress"), object{"type": "null"}}},
			"parentId": idSchema, "error": ref("JobError"),
			"links": object{"type": "object", "additionalProperties": ref("Link")},
		}, "id", "kind", "title", "revision", "status", "done", "fetchable", "paused", "partial", "preview", "createdAt", "elapsedMs", "progress", "links"),
		"Settings": object{
			"type": "object", "additionalProperties": false,
			"anyOf": []any{object{"required": []string{"priority"}}, object{"required": []string{"maxParallel"}}, object{"required": []string{"maxRate"}}},
			"properties": object{
				"reason":      reasonSchema,
				"priority":    prioritySchema,
				"maxParallel": object{"type": "integer", "minimum": 1, "maximum": mostParallel, "description": "how many buckets are open at once, of a job that has buckets"},
				"maxRate": object{
					"anyOf":       []any{object{"type": "number", "minimum": lowestRate, "maximum": highestRate}, object{"type": "number", "enum": []int{0}}},
					"description": "how many items a second are processed at most, of a job without buckets; 0 removes the bound",
				},
			},
		},
		"Page": nothingElse(object{"jobs": object{"type": "array", "items": ref("Job")}, "next": idSchema}, "jobs"),
		"Item": nothingElse(object{"item": object{}, "outcome": object{"type": "string", "enum": outcomes}, "code": textSchema}, "item", "outcome"),
		"Preview": nothingElse(object{
			"job": idSchema, "complete": flagSchema, "progress": ref("Progress"),
			"changes":      object{"type": "array", "items": nothingElse(object{"verb": object{"type": "string", "enum": []string{"insert", "update", "delete", "merge"}}, "rows": countSchema}, "verb", "rows")},
			"otherChanges": countSchema,
			"notes":        object{"type": "array", "items": nothingElse(object{"note": textSchema, "items": countSchema}, "note", "items")},
			"otherNotes":   countSchema,
			"samples":      object{"type": "array", "items": nothingElse(object{"item": object{}, "note": textSchema, "outcome": object{"type": "string", "enum": outcomes}}, "item", "note", "outcome")},
			"expectedMs":   countSchema,
		}, "job", "complete", "progress", "changes", "otherChanges", "notes", "otherNotes", "samples", "expectedMs"),
		"ItemsPage": nothingElse(object{"items": object{"type": "array", "items": ref("Item")}, "next": cursorSchema}, "items"),
		"Problem": object{
			"type": "object", "description": "A problem document (RFC 9457).",
			"properties": object{
				"type": object{"type": "string", "format": "uri"}, "title": textSchema, "status": object{"type": "integer"}, "detail": textSchema,
				"errors": object{"type": "array", "items": nothingElse(object{"pointer": textSchema, "detail": textSchema}, "pointer", "detail")},
				"code":   textSchema, "job": ref("Job"), "incident": textSchema,
			},
			"required": []string{"type", "title", "status"},
		},
	}
}
