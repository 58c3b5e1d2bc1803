package taskhttp

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskcause"
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
	starts, files := slices.Clone(s.starts), maps.Clone(s.files)
	s.mu.Unlock()
	schemas, paths := commonSchemas(), s.jobPaths()
	if s.config.Operator != nil {
		s.describeOperators(schemas, paths)
	}
	hoisted, ids := map[string]hoistedKind{}, map[string]bool{}
	for _, st := range starts {
		k, done := hoisted[st.name]
		if !done {
			var err error
			if k, err = hoistKind(schemas, st); err != nil {
				return nil, err
			}
			hoisted[st.name] = k
			paths[s.config.Prefix+"/kinds/"+st.name+"/results/{id}"] = fetchOfKind(st, k.result, files[st.name] != nil)
		}
		paths[st.path] = object{"post": startOperation(st, startID(ids, st), k.spec)}
	}
	d := s.config.Document
	server := []object{}
	for _, address := range d.Servers {
		server = append(server, object{"url": address})
	}
	if len(server) == 0 {
		server = append(server, object{"url": cmp.Or(s.config.External, "/")})
	}
	schemes := d.Security
	if schemes == nil {
		name, _, _ := strings.Cut(s.config.Challenge, " ")
		schemes = map[string]any{"caller": object{"type": "http", "scheme": strings.ToLower(name)}}
	}
	security := []object{}
	for _, name := range slices.Sorted(maps.Keys(schemes)) {
		security = append(security, object{name: []string{}})
	}
	return json.MarshalIndent(object{
		"openapi":           "3.1.1",
		"jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
		"info": object{
			"title": cmp.Or(d.Title, "Jobs"), "version": cmp.Or(d.Version, "1"),
			"description": "Start, watch, fetch, stop and delete jobs. Each call may be answered with problems that are not listed with it: 401, 403, 500 and 503.",
		},
		"servers":  server,
		"security": security,
		"tags":     tagsOf(s.config.Operator != nil),
		"paths":    paths,
		"components": object{
			"schemas": schemas, "securitySchemes": schemes,
		},
	}, "", "  ")
}

// Document says what the OpenAPI document of a server has besides its calls.
type Document struct {
	// Title and Version are of the API. They default to "Jobs" and "1".
	Title, Version string
	// Servers are the addresses of the service. Defaults to Config.External, or "/".
	Servers []string
	// Security are the security schemes by name, as the OpenAPI Specification has them, each of which suffices.
	// Defaults to the scheme of HTTP that Config.Challenge names.
	Security map[string]any
}

// tagsOf describes the tags of the operations.
func tagsOf(operators bool) []object {
	tags := []object{{"name": "jobs", "description": "Jobs, of any kind"}, {"name": "start", "description": "Starts of jobs"}}
	if operators {
		tags = append(tags, object{"name": "operator", "description": "For operators of the service"})
	}
	return tags
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
	durationSchema = object{"type": "string", "pattern": durationForm.String()}
	periodSchema   = object{"type": "string", "pattern": `^(0|([0-9]+(\.[0-9]+)?(h|m|s|ms|us|ns))*)$`}
	cursorSchema   = object{"type": "string", "pattern": `^([0-7][0-9a-f]{47}[0-7][0-9a-f]{15}[0-7][0-9a-f]{15})?$`}
	kindSchema     = object{"type": "string", "pattern": `^([a-z][a-z0-9_]{0,62})?$`}
	// Bare or as RFC 9651 writes a text, in quotes.
	keySchema         = object{"type": "string", "minLength": 1, "maxLength": maxKey, "pattern": `^("[ -~]+"|[!#-~]([ -~]*[!-~])?)$`}
	childrenParameter = parameter("query", "children", "true: children of jobs too", flagSchema)
	parentParameter   = parameter("query", "parent", "only children of this job", uuidSchema)
	prefer            = parameter("header", "Prefer", "wait=N waits N seconds at most", textSchema)
	ifMatch           = parameter("header", "If-Match", "the ETag that you have: nothing is done if there is another one", textSchema)
	ifNew             = parameter("header", "If-None-Match", "*: nothing is done if there is one", textSchema)
)

// reasonBody is the body of requests that take a reason.
var reasonBody = object{"content": content(mediaJSON, object{
	"type": "object", "additionalProperties": false,
	"properties": object{"reason": reasonSchema},
})}

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
			childrenParameter, parentParameter,
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
			"patch": settingsOperation(operation),
			"delete": operation("delete", "Delete a job and its result, irrevocably", []any{ifMatch}, responses(
				object{"200": jobResponse("The job, which is gone now or after its current batch."), "204": object{"description": "There is no such job."}},
				ErrBadParameter, ErrNotPossible, ErrPrecondition)),
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
		p + "/items": object{"get": operation("item_history", "List what became of one item in jobs, newest first", []any{
			object{"in": "query", "name": "item", "required": true, "schema": textSchema, "description": "the item in JSON; a text that is no JSON is a string"},
			parameter("query", "kind", "only in jobs of this kind", kindSchema),
			parameter("query", "limit", "the greatest number of records", object{"type": "integer", "minimum": 1, "maximum": maxRecords, "default": defaultRecords}),
			parameter("query", "age", "only records that are at most so old", durationSchema),
		}, responses(object{"200": object{"description": "The records.", "content": content(mediaJSON, ref("ItemHistory"))}}, ErrBadParameter))},
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
	for _, f := range followUps {
		o := operation(strings.ReplaceAll(string(f.op), "-", "_"), f.summary+". A repetition returns the same job", []any{prefer, ifMatch}, responses(
			object{"202": startedResponse("The job is started."), "200": startedResponse("The job is started and done already.")},
			ErrBadParameter, ErrNotJSON, ErrNoSuchJob, ErrNotPossible, ErrKeyTaken, ErrDeleted, ErrPrecondition, ErrBodyTooLarge, ErrMediaType, ErrShuttingDown))
		o["requestBody"] = reasonBody
		paths[p+"/{id}/"+string(f.op)] = object{"parameters": []any{id}, "post": o}
	}
	selected := operation("retry_selected", "Start one job over failed items of several jobs that have ended. A repetition returns the same job", []any{prefer}, responses(
		object{"202": startedResponse("The job is started."), "200": startedResponse("The job is started and done already.")},
		ErrBadParameter, ErrNotJSON, ErrNoSuchJob, ErrNotPossible, ErrKeyTaken, ErrDeleted, ErrPrecondition, ErrBodyTooLarge, ErrMediaType, ErrShuttingDown))
	selected["requestBody"] = object{"required": true, "content": content(mediaJSON, ref("Failures"))}
	paths[p+"/"+string(OpRetryFailed)] = object{"post": selected}
	for _, c := range changes {
		o := operation(string(c.op), "Make the request: "+string(c.op), []any{ifMatch}, responses(
			object{"202": jobResponse("It is requested."), "200": jobResponse("It has no effect.")},
			ErrBadParameter, ErrNotJSON, ErrNoSuchJob, ErrNotPossible, ErrKeyTaken, ErrPrecondition, ErrBodyTooLarge, ErrMediaType))
		o["requestBody"] = reasonBody
		paths[p+"/{id}/"+string(c.op)] = object{"parameters": []any{id}, "post": o}
	}
	return paths
}

// settingsOperation describes the change of settings.
func settingsOperation(operation func(name, summary string, parameters []any, answers object) object) object {
	o := operation(string(OpChange), "Change settings of a job, all that are given or none", []any{ifMatch}, responses(
		object{"200": jobResponse("They are changed, and take effect with the next batch.")},
		ErrBadParameter, ErrNotJSON, ErrNoSuchJob, ErrNotPossible, ErrPrecondition, ErrBodyTooLarge, ErrMediaType))
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

// onlyNamed is the schema of an object that has no other properties than these.
func onlyNamed(names ...string) object { return object{"propertyNames": object{"enum": names}} }

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
			"text":       textSchema, "state": textSchema,
			"custom": object{"description": "what the kind itself says of its progress, in a type of its own"},
		}, "processed", "succeeded", "failed", "skipped"),
		"JobError": nothingElse(object{"code": textSchema, "title": textSchema}, "code", "title"),
		"Job": nothingElse(object{
			"id": idSchema, "kind": textSchema, "title": textSchema, "revision": textSchema, "status": ref("Status"),
			"reason": object{"type": "string", "enum": append([]taskcause.Cause{reasonWorker}, reasons...)},
			"done":   flagSchema, "fetchable": flagSchema, "paused": flagSchema, "partial": flagSchema, "preview": flagSchema,
			"createdAt": timeSchema, "startedAt": timeSchema, "finishedAt": timeSchema, "expiresAt": timeSchema, "elapsedMs": countSchema,
			"progress": object{"anyOf": []any{ref("Progress"), object{"type": "null"}}},
			"parentId": idSchema, "error": ref("JobError"),
			"links": object{"type": "object", "additionalProperties": ref("Link")},
		}, "id", "kind", "title", "revision", "status", "done", "fetchable", "paused", "partial", "preview", "createdAt", "elapsedMs", "progress", "links"),
		"Settings": object{
			"type": "object", "additionalProperties": false,
			"not": onlyNamed("reason"),
			"properties": object{
				"reason":      reasonSchema,
				"priority":    prioritySchema,
				"maxParallel": object{"type": "integer", "minimum": 1, "maximum": mostParallel, "description": "how many buckets are open at once, of a job that has buckets"},
				"maxRate": object{
					"type": "number", "minimum": 0, "maximum": highestRate, "not": object{"exclusiveMinimum": 0, "exclusiveMaximum": lowestRate},
					"description": "how many items a second are processed at most, of a job without buckets, from 0.001; 0 removes the bound",
				},
				"stopAfter": object{
					"type": "string", "pattern": stopAfterForm.String(),
					"description": "the stop policy: a number of failed items, or from 1% to 100% of the processed ones. A job that has reached it is paused, and can be resumed after a higher one is set",
				},
			},
		},
		"Page": nothingElse(object{"jobs": object{"type": "array", "items": ref("Job")}, "next": idSchema}, "jobs"),
		"Item": nothingElse(object{"item": object{}, "outcome": object{"type": "string", "enum": outcomes}, "code": textSchema, "stage": textSchema, "source": idSchema}, "item", "outcome"),
		"ItemHistory": nothingElse(object{"records": object{"type": "array", "items": nothingElse(object{
			"item": object{}, "outcome": object{"type": "string", "enum": outcomes}, "code": textSchema, "stage": textSchema, "source": idSchema, "job": idSchema, "at": timeSchema,
		}, "item", "outcome", "job", "at")}}, "records"),
		"Failures": nothingElse(object{
			"jobs": object{"type": "array", "items": idSchema, "minItems": 1, "maxItems": maxFailedJobs},
			"from": timeSchema, "to": timeSchema,
			"codes":  object{"type": "array", "items": textSchema, "maxItems": maxFailedItems},
			"items":  object{"type": "array", "items": object{}, "maxItems": maxFailedItems},
			"reason": object{"type": "string", "maxLength": maxReason},
		}, "jobs"),
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
