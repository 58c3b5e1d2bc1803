package taskhttp

import (
	"maps"
	"math"
	"strconv"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskops"
)

var (
	kindNameSchema   = object{"type": "string", "pattern": kindForm.String()}
	nameSchema       = object{"type": "string", "pattern": nameForm.String()}
	codeSchema       = object{"type": "string", "pattern": code.String()}
	prioritySchema   = object{"type": "integer", "minimum": taskkit.PriorityHigh, "maximum": taskkit.PriorityIdle, "description": "1 goes first"}
	misfireSchema    = object{"type": "string", "enum": []taskops.Misfire{taskops.MisfireOnce, taskops.MisfireAll, taskops.MisfireForget}, "description": "what becomes of fires that nobody could make in time"}
	ageSchema        = object{"type": "string", "pattern": "^[0-9]{1,5}(h|m|s)$"}
	keyOfLimitSchema = object{"type": "string", "minLength": 1}
	pageSchema       = object{"type": "integer", "minimum": 1, "maximum": maxPage, "default": defaultPage}
)

// jsonResponse is an answer of a schema.
func jsonResponse(description, schema string) object {
	return object{"description": description, "content": content(mediaJSON, ref(schema))}
}

// pageResponse is a page of a list.
func pageResponse(description, schema string) object {
	r := jsonResponse(description, schema)
	r["headers"] = object{"Link": object{"description": "the next page, if there is one", "schema": textSchema}}
	return r
}

// describeOperators adds the calls of operators to the document.
func (s *Server) describeOperators(schemas, paths object) {
	maps.Copy(schemas, operatorSchemas())
	p := s.config.Prefix + operatorPath
	operation := tagged("operator")
	done := object{"description": "It is done."}
	limit := parameter("query", "limit", "the greatest length of the page", pageSchema)
	name := object{"in": "path", "name": "name", "required": true, "schema": nameSchema}

	set := operation("set_schedule", "Make or change a schedule; what is left out stays as it is", nil, responses(
		object{"200": jsonResponse("It is set.", "Schedule")}, ErrBadParameter, ErrNotJSON, ErrBodyTooLarge, ErrMediaType, ErrSchedule))
	set["requestBody"] = object{"required": true, "content": content(mediaJSON, ref("ScheduleSettings"))}
	paths[p+"/schedules"] = object{"get": operation("schedules", "List the schedules by name", []any{
		limit, parameter("query", "cursor", "next of the page before", nameSchema),
	}, responses(object{"200": pageResponse("A page of schedules.", "SchedulePage")}, ErrBadParameter))}
	paths[p+"/schedules/{name}"] = object{
		"parameters": []any{name},
		"get": operation("schedule", "Read a schedule with its next five fires", []any{
			parameter("header", "If-None-Match", "the ETag that you have", textSchema),
		}, responses(object{"200": jsonResponse("The schedule.", "Schedule"), "304": object{"description": "It has not changed."}}, ErrBadParameter, ErrNoSuchSchedule)),
		"put": set,
		"delete": operation("delete_schedule", "Delete a schedule; its jobs stay", nil, responses(
			object{"204": done}, ErrBadParameter, ErrNoSuchSchedule)),
	}
	for _, c := range scheduleChanges {
		o := operation(c.name+"_schedule", c.summary, nil, responses(object{strconv.Itoa(c.status): jsonResponse("The schedule.", "Schedule")},
			ErrBadParameter, ErrNotJSON, ErrNoSuchSchedule, ErrBodyTooLarge, ErrMediaType))
		o["requestBody"] = reasonBody
		paths[p+"/schedules/{name}/"+c.name] = object{"parameters": []any{name}, "post": o}
	}
	paths[p+"/queues"] = object{"get": operation("queues", "List the queues", nil, responses(
		object{"200": jsonResponse("The queues.", "QueueList")}, ErrBadParameter))}
	for _, c := range queueChanges {
		o := operation(c.name+"_queue", c.summary, nil, responses(object{"204": done},
			ErrBadParameter, ErrNotJSON, ErrNoSuchPath, ErrBodyTooLarge, ErrMediaType))
		o["requestBody"] = reasonBody
		paths[p+"/queues/{name}/"+c.name] = object{"parameters": []any{name}, "post": o}
	}
	selecting := []any{
		parameter("query", "kind", "only of this kind", kindSchema),
		parameter("query", "code", "only with this code of the error", codeSchema),
		parameter("query", "queue", "only in this queue", nameSchema),
		parameter("query", "olderThan", "only those that ended longer ago", ageSchema),
	}
	paths[p+"/dead"] = object{"get": operation("dead", "Group the dead letters by kind and code", selecting, responses(
		object{"200": jsonResponse("The groups.", "DeadGroups")}, ErrBadParameter))}
	paths[p+"/dead/jobs"] = object{"get": operation("dead_jobs", "List dead letters, newest first", append([]any{
		limit, parameter("query", "cursor", "next of the page before", idSchema),
	}, selecting...), responses(object{"200": pageResponse("A page of dead letters.", "DeadPage")}, ErrBadParameter))}
	for _, c := range deadChanges {
		o := operation(c.name+"_dead", c.summary, nil, responses(object{"200": jsonResponse("What became of them.", "DeadReport")},
			ErrBadParameter, ErrNotJSON, ErrBodyTooLarge, ErrMediaType))
		o["requestBody"] = object{"required": true, "content": content(mediaJSON, ref("DeadSelection"))}
		paths[p+"/dead/"+c.name] = object{"post": o}
	}
	key := parameter("query", "key", "the key of the limit, of up to 200 bytes", keyOfLimitSchema)
	key["required"] = true
	setLimit := operation("set_limit", "Set how many jobs with a key execute at once, whatever they say", []any{key}, responses(
		object{"204": done}, ErrBadParameter, ErrNotJSON, ErrBodyTooLarge, ErrMediaType))
	setLimit["requestBody"] = object{"required": true, "content": content(mediaJSON, ref("LimitSettings"))}
	paths[p+"/limits"] = object{
		"get": operation("limits", "List the limits that are in use or set, by key", []any{
			limit, parameter("query", "cursor", "next of the page before", textSchema),
		}, responses(object{"200": pageResponse("A page of limits.", "LimitPage")}, ErrBadParameter)),
		"put": setLimit,
		"delete": operation("remove_limit", "Take back what was set: what the jobs say holds again", []any{key}, responses(
			object{"204": done}, ErrBadParameter)),
	}
}

// operatorSchemas describe what the calls of operators send and take.
func operatorSchemas() object {
	list := func(of string) object { return object{"type": "array", "items": ref(of)} }
	required := func(name string) object { return object{"required": []string{name}} }
	return object{
		"Fire": nothingElse(object{"at": timeSchema, "wall": textSchema}, "at", "wall"),
		"Schedule": nothingElse(object{
			"name": nameSchema, "kind": textSchema, "spec": object{"type": "object"}, "cron": textSchema, "zone": textSchema, "misfire": misfireSchema,
			"queue": nameSchema, "priority": prioritySchema, "owner": idSchema, "runAs": idSchema,
			"paused": flagSchema, "pausedBy": idSchema, "pausedReason": textSchema, "triggered": flagSchema,
			"next": ref("Fire"), "fires": list("Fire"),
			"lastFiredAt": timeSchema, "lastWall": textSchema, "lastJob": idSchema, "lastError": textSchema, "lastErrorAt": timeSchema,
			"createdAt": timeSchema, "createdBy": idSchema, "modifiedAt": timeSchema, "modifiedBy": idSchema,
		}, "name", "kind", "cron", "zone", "misfire", "priority", "owner", "runAs", "paused", "triggered", "createdAt", "createdBy", "modifiedAt", "modifiedBy"),
		"SchedulePage": nothingElse(object{"schedules": list("Schedule"), "next": nameSchema}, "schedules"),
		"ScheduleSettings": object{
			"type": "object", "additionalProperties": false, "description": "A new schedule needs kind, spec and cron.",
			"properties": object{
				"kind": kindNameSchema, "spec": object{"type": "object", "description": "the spec of its jobs, which a worker checks when the schedule fires"},
				"cron": object{"type": "string", "description": "five fields, @daily and the like, or @every 90m"},
				"zone": object{"type": "string", "description": "a name of the IANA database, such as Europe/Oslo"}, "misfire": misfireSchema,
				"queue": nameSchema, "priority": prioritySchema, "owner": idSchema, "runAs": idSchema,
			},
		},
		"Limit": nothingElse(object{
			"key": textSchema, "atMost": countSchema, "set": flagSchema, "executing": countSchema, "waiting": countSchema,
		}, "key", "atMost", "set", "executing", "waiting"),
		"LimitPage":     nothingElse(object{"limits": list("Limit"), "next": textSchema}, "limits"),
		"LimitSettings": nothingElse(object{"atMost": object{"type": "integer", "minimum": 1, "maximum": math.MaxInt32}}, "atMost"),
		"UnknownKind":   nothingElse(object{"kind": textSchema, "revision": object{"type": "integer"}, "jobs": countSchema, "since": timeSchema}, "kind", "revision", "jobs", "since"),
		"Queue": nothingElse(object{
			"name": nameSchema, "waiting": countSchema, "due": countSchema, "running": countSchema, "workers": countSchema,
			"oldestDueAt": timeSchema, "oldestWaitMs": countSchema,
			"paused": flagSchema, "pausedBy": idSchema, "pausedReason": textSchema, "pausedAt": timeSchema,
			"resumedBy": idSchema, "resumedReason": textSchema, "resumedAt": timeSchema, "unknownKinds": list("UnknownKind"),
		}, "name", "waiting", "due", "running", "workers", "paused"),
		"QueueList": nothingElse(object{"queues": list("Queue")}, "queues"),
		"DeadGroup": nothingElse(object{
			"kind": textSchema, "code": textSchema, "jobs": countSchema, "oldest": timeSchema, "newest": timeSchema, "example": idSchema,
		}, "kind", "code", "jobs", "oldest", "newest", "example"),
		"DeadGroups": nothingElse(object{"groups": list("DeadGroup")}, "groups"),
		"DeadJob": nothingElse(object{
			"id": idSchema, "kind": textSchema, "queue": textSchema, "owner": idSchema, "code": textSchema, "attempts": countSchema,
			"parentId": idSchema, "createdAt": timeSchema, "finishedAt": timeSchema,
		}, "id", "kind", "queue", "owner", "code", "attempts", "createdAt"),
		"DeadPage": nothingElse(object{"jobs": list("DeadJob"), "next": idSchema}, "jobs"),
		"DeadSelection": object{
			"type": "object", "additionalProperties": false, "description": "The dead letters that have all that is given; all alone means each of them.",
			"anyOf": []any{required("all"), required("kind"), required("code"), required("queue"), required("olderThan")},
			"properties": object{
				"all": object{"type": "boolean", "enum": []bool{true}}, "kind": kindNameSchema, "code": codeSchema, "queue": nameSchema, "olderThan": ageSchema,
				"reason": reasonSchema,
			},
		},
		"DeadRefusal": nothingElse(object{"id": idSchema, "problem": ref("Problem")}, "id", "problem"),
		"DeadReport":  nothingElse(object{"done": countSchema, "refused": countSchema, "refusals": list("DeadRefusal")}, "done", "refused", "refusals"),
	}
}
