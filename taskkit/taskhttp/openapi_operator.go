package taskhttp

import (
	"maps"
	"math"
	"strconv"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskbulk"
	"taskkit.dev/taskkit/taskcause"
	"taskkit.dev/taskkit/taskops"
)

var (
	kindNameSchema   = object{"type": "string", "pattern": kindForm.String()}
	nameSchema       = object{"type": "string", "pattern": nameForm.String()}
	codeSchema       = object{"type": "string", "pattern": code.String()}
	prioritySchema   = object{"type": "integer", "minimum": taskkit.PriorityHigh, "maximum": taskkit.PriorityIdle, "description": "1 goes first"}
	misfireSchema    = object{"type": "string", "enum": []taskops.Misfire{taskops.MisfireOnce, taskops.MisfireAll, taskops.MisfireForget}, "description": "what becomes of fires that nobody could make in time"}
	settingSchema    = object{"type": "string", "enum": []taskops.Setting{taskops.SettingQueue, taskops.SettingLimit, taskops.SettingSchedule}}
	overlapSchema    = object{"type": "string", "enum": []taskops.Overlap{taskops.OverlapSkip, taskops.OverlapBuffer, taskops.OverlapAllow}, "description": "what becomes of a fire while the last job has not ended"}
	atMostSchema     = object{"type": "integer", "minimum": 1, "maximum": math.MaxInt32}
	timeLimitSchema  = object{"type": "integer", "minimum": 1, "description": "milliseconds after which a job fails"}
	windowSchema     = object{"type": "string", "description": "when its jobs execute, such as 22:00-06:00 Europe/Oslo"}
	uniqueKeySchema  = object{"type": "string", "minLength": 1, "description": "a fire is skipped while another job has it"}
	limitsSchema     = object{"type": "object", "additionalProperties": atMostSchema, "description": "how many jobs with each key execute at once"}
	ageSchema        = object{"type": "string", "pattern": "^[0-9]{1,5}(h|m|s)$"}
	uuidSchema       = object{"type": "string", "format": "uuid", "not": object{"enum": []string{zero.String()}}}
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
	maps.Copy(schemas, doctorSchemas())
	p := s.config.Prefix + operatorPath
	operation := tagged("operator")
	done := object{"description": "It is done."}
	limit := parameter("query", "limit", "the greatest length of the page", pageSchema)
	name := object{"in": "path", "name": "name", "required": true, "schema": nameSchema}

	set := operation("set_schedule", "Make or change a schedule; what is left out stays as it is", []any{ifMatch, ifNew}, responses(
		object{"200": jsonResponse("It is set.", "Schedule")}, ErrBadParameter, ErrNotJSON, ErrPrecondition, ErrBodyTooLarge, ErrMediaType, ErrSchedule))
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
		"delete": operation("delete_schedule", "Delete a schedule; its jobs stay", []any{ifMatch}, responses(
			object{"204": done}, ErrBadParameter, ErrNoSuchSchedule, ErrPrecondition)),
	}
	for _, c := range scheduleChanges {
		o := operation(c.name+"_schedule", c.summary, []any{ifMatch}, responses(object{strconv.Itoa(c.status): jsonResponse("The schedule.", "Schedule")},
			ErrBadParameter, ErrNotJSON, ErrNoSuchSchedule, ErrPrecondition, ErrBodyTooLarge, ErrMediaType))
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
		childrenParameter,
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
	bulk := operation("start_bulk", "Retry, stop, pause, resume or delete all jobs that match, by one job", []any{
		parameter("header", "Idempotency-Key", "a request that is repeated with it starts one", object{"type": "string", "minLength": 1, "maxLength": maxKey}),
	}, responses(object{"202": object{
		"description": "The bulk operation. It is a job itself.", "content": content(mediaJSON, ref("BulkStarted")),
		"headers": object{"Location": object{"description": "the job", "schema": textSchema}, "Idempotent-Replayed": object{"description": "true: an earlier request has started it", "schema": textSchema}},
	}}, ErrBadParameter, ErrNotJSON, ErrNotPossible, ErrKeyReused, ErrBodyTooLarge, ErrMediaType, ErrShuttingDown))
	bulk["requestBody"] = object{"required": true, "content": content(mediaJSON, ref("BulkSelection"))}
	verb := parameter("query", "verb", "the request", object{"type": "string", "enum": taskbulk.Verbs()})
	verb["required"] = true
	paths[p+"/bulk"] = object{
		"get": operation("count_bulk", "Count the jobs that a bulk operation would be for, up to 10,000", append([]any{
			verb, parameter("query", "status", "only with this status", ref("Status")), parameter("query", "owner", "only of this person", uuidSchema), parentParameter,
		}, selecting...), responses(object{"200": jsonResponse("The number.", "BulkCount")}, ErrBadParameter, ErrNotPossible)),
		"post": bulk,
	}
	paths[p+"/jobs"] = object{"get": operation("all_jobs", "List the jobs of everybody, newest first", []any{
		limit, parameter("query", "cursor", "next of the page before", idSchema),
		parameter("query", "kind", "only of this kind", kindSchema), parameter("query", "status", "only with this status", ref("Status")),
		parameter("query", "queue", "only in this queue", nameSchema), parameter("query", "owner", "only of this person", uuidSchema),
		childrenParameter, parentParameter,
	}, responses(object{"200": pageResponse("A page of jobs.", "OperatorPage")}, ErrBadParameter))}
	paths[p+"/jobs/{id}"] = object{
		"parameters": []any{object{"in": "path", "name": "id", "required": true, "schema": idSchema, "description": "the id of a job"}},
		"get": operation("explain", "Explain why a job of anybody is where it is", nil, responses(
			object{"200": jsonResponse("The explanation.", "Explained")}, ErrBadParameter, ErrNoSuchJob)),
	}
	paths[p+"/workers"] = object{"get": operation("workers", "List the workers", nil, responses(
		object{"200": jsonResponse("The workers.", "WorkerList")}, ErrBadParameter))}
	paths[p+"/doctor"] = object{"get": operation("doctor", "Find what is wrong, and what mends it", nil, responses(
		object{"200": jsonResponse("The report.", "DoctorReport")}, ErrBadParameter))}
	key := parameter("query", "key", "the key of the limit, of up to 200 bytes", keyOfLimitSchema)
	key["required"] = true
	setLimit := operation("set_limit", "Set how many jobs with a key execute at once, whatever they say", []any{key}, responses(
		object{"204": done}, ErrBadParameter, ErrNotJSON, ErrBodyTooLarge, ErrMediaType))
	paths[p+"/changes"] = object{"get": operation("changes", "List who changed queues, limits and schedules, newest first", []any{
		limit, parameter("query", "cursor", "next of the page before", idSchema),
		parameter("query", "setting", "only of this kind of setting", settingSchema), parameter("query", "name", "only of this name", textSchema),
	}, responses(object{"200": pageResponse("A page of changes.", "ChangePage")}, ErrBadParameter))}
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
	return object{
		"Fire": nothingElse(object{"at": timeSchema, "wall": textSchema}, "at", "wall"),
		"Schedule": nothingElse(object{
			"name": nameSchema, "kind": textSchema, "spec": object{"type": "object", "additionalProperties": true}, "cron": textSchema, "zone": textSchema, "misfire": misfireSchema, "overlap": overlapSchema,
			"queue": nameSchema, "priority": prioritySchema, "owner": idSchema, "runAs": idSchema,
			"uniqueKey": uniqueKeySchema, "limits": limitsSchema, "timeLimitMs": timeLimitSchema, "window": windowSchema, "buffered": textSchema,
			"paused": flagSchema, "pausedBy": idSchema, "pausedReason": textSchema, "triggered": flagSchema,
			"next": ref("Fire"), "lateMs": countSchema, "fires": list("Fire"),
			"lastFiredAt": timeSchema, "lastWall": textSchema, "lastJob": idSchema, "lastError": textSchema, "lastErrorAt": timeSchema,
			"createdAt": timeSchema, "createdBy": idSchema, "modifiedAt": timeSchema, "modifiedBy": idSchema,
		}, "name", "kind", "cron", "zone", "misfire", "overlap", "priority", "owner", "runAs", "paused", "triggered", "createdAt", "createdBy", "modifiedAt", "modifiedBy"),
		"SchedulePage": nothingElse(object{"schedules": list("Schedule"), "next": nameSchema}, "schedules"),
		"ScheduleSettings": object{
			"type": "object", "additionalProperties": false, "description": "A new schedule needs kind, spec and cron.",
			"properties": object{
				"kind": kindNameSchema, "spec": object{"type": "object", "additionalProperties": true, "description": "the spec of its jobs, which a worker checks when the schedule fires"},
				"cron": object{"type": "string", "description": "five fields, @daily and the like, or @every 90m"},
				"zone": object{"type": "string", "description": "a name of the IANA database, such as Europe/Oslo"}, "misfire": misfireSchema, "overlap": overlapSchema,
				"queue": nameSchema, "priority": prioritySchema, "owner": idSchema, "runAs": idSchema,
				"uniqueKey": uniqueKeySchema, "limits": limitsSchema, "timeLimitMs": timeLimitSchema, "window": windowSchema,
			},
		},
		"Limit": nothingElse(object{
			"key": textSchema, "atMost": countSchema, "set": flagSchema, "executing": countSchema, "waiting": countSchema, "moreWaiting": flagSchema, "jobs": list("LimitJob"),
		}, "key", "atMost", "set", "executing", "waiting"),
		"LimitJob":      nothingElse(object{"id": idSchema, "worker": textSchema}, "id", "worker"),
		"LimitPage":     nothingElse(object{"limits": list("Limit"), "next": textSchema}, "limits"),
		"LimitSettings": nothingElse(object{"atMost": atMostSchema}, "atMost"),
		"UnknownKind":   nothingElse(object{"kind": textSchema, "revision": object{"type": "integer"}, "jobs": countSchema, "since": timeSchema}, "kind", "revision", "jobs", "since"),
		"Queue": nothingElse(object{
			"name": nameSchema, "waiting": countSchema, "due": countSchema, "moreWaiting": flagSchema, "moreDue": flagSchema, "running": countSchema, "workers": countSchema,
			"oldestDueAt": timeSchema, "oldestWaitMs": countSchema,
			"paused": flagSchema, "pausedBy": idSchema, "pausedReason": textSchema, "pausedAt": timeSchema,
			"resumedBy": idSchema, "resumedReason": textSchema, "resumedAt": timeSchema, "unknownKinds": list("UnknownKind"),
		}, "name", "waiting", "due", "running", "workers", "paused"),
		"QueueList": nothingElse(object{"queues": list("Queue")}, "queues"),
		"OperatorJob": nothingElse(object{
			"id": idSchema, "kind": textSchema, "queue": textSchema, "owner": idSchema, "status": ref("Status"),
			"cause": object{"type": "string", "enum": taskcause.All()}, "code": textSchema, "paused": flagSchema, "priority": prioritySchema, "attempts": countSchema,
			"worker": textSchema, "parentId": idSchema, "createdAt": timeSchema, "startedAt": timeSchema, "finishedAt": timeSchema,
			"progress": object{"anyOf": []any{ref("Progress"), object{"type": "null"}}},
		}, "id", "kind", "queue", "owner", "status", "cause", "paused", "priority", "attempts", "createdAt", "progress"),
		"OperatorPage": nothingElse(object{"jobs": list("OperatorJob"), "next": idSchema}, "jobs"),
		"FailedAttempt": nothingElse(object{
			"at": timeSchema, "worker": textSchema, "attempt": countSchema, "class": textSchema, "code": textSchema, "detail": textSchema,
		}, "at", "worker", "attempt", "class", "code", "detail"),
		"JobEvent": nothingElse(object{"at": timeSchema, "action": textSchema, "actor": idSchema, "reason": textSchema, "worker": textSchema}, "at", "action"),
		"Explained": nothingElse(object{
			"job": ref("OperatorJob"), "explanation": textSchema, "attempts": list("FailedAttempt"), "events": list("JobEvent"),
		}, "job", "explanation", "attempts", "events"),
		"Worker": nothingElse(object{
			"id": textSchema, "version": textSchema, "kinds": object{"type": "object", "additionalProperties": object{"type": "array", "items": object{"type": "integer"}}},
			"queues": object{"type": "array", "items": textSchema}, "slots": countSchema, "busy": countSchema, "draining": flagSchema, "safeMode": flagSchema,
			"alive": flagSchema, "startedAt": timeSchema, "heartbeatAt": timeSchema, "silenceMs": countSchema, "endedAt": timeSchema, "endReason": textSchema,
		}, "id", "version", "kinds", "queues", "slots", "busy", "draining", "safeMode", "alive", "startedAt", "heartbeatAt", "silenceMs"),
		"WorkerList": nothingElse(object{"workers": list("Worker")}, "workers"),
		"DeadGroup": nothingElse(object{
			"kind": textSchema, "code": textSchema, "jobs": countSchema, "oldest": timeSchema, "newest": timeSchema, "example": idSchema,
		}, "kind", "code", "jobs", "oldest", "newest", "example"),
		"SettingChange": nothingElse(object{
			"id": idSchema, "at": timeSchema, "setting": settingSchema, "name": textSchema, "action": textSchema, "actor": idSchema, "reason": textSchema,
			"from": textSchema, "to": textSchema,
		}, "id", "at", "setting", "name", "action"),
		"ChangePage": nothingElse(object{"changes": list("SettingChange"), "next": idSchema}, "changes"),
		"DeadGroups": nothingElse(object{
			"groups": list("DeadGroup"),
			"truncated": object{
				"type": "array", "items": textSchema,
				"description": "The kinds that have more dead letters than were read: the numbers of jobs in their groups are lower bounds, and there may be more of these groups.",
			},
		}, "groups"),
		"DeadJob": nothingElse(object{
			"id": idSchema, "kind": textSchema, "queue": textSchema, "owner": idSchema, "code": textSchema, "attempts": countSchema,
			"parentId": idSchema, "createdAt": timeSchema, "finishedAt": timeSchema,
		}, "id", "kind", "queue", "owner", "code", "attempts", "createdAt"),
		"DeadPage": nothingElse(object{"jobs": list("DeadJob"), "next": idSchema}, "jobs"),
		"DeadSelection": object{
			"type": "object", "additionalProperties": false, "description": "The dead letters that have all that is given; all alone means each of them.",
			"not": onlyNamed("reason", "children"),
			"properties": object{
				"all": object{"type": "boolean", "enum": []bool{true}}, "kind": kindNameSchema, "code": codeSchema, "queue": nameSchema, "olderThan": ageSchema,
				"children": object{"type": "boolean", "description": "children too"},
				"reason":   reasonSchema,
			},
		},
		"BulkSelection": object{
			"type": "object", "additionalProperties": false, "required": []string{"verb"},
			"description": "The jobs that have all that is given, and that the verb is for; all alone means each of them. To stop and to delete need a reason.",
			"properties": object{
				"verb": object{"type": "string", "enum": taskbulk.Verbs()}, "all": flagSchema, "kind": kindNameSchema, "status": ref("Status"), "code": codeSchema,
				"queue": nameSchema, "owner": uuidSchema, "parentId": uuidSchema, "olderThan": ageSchema,
				"ids":      object{"type": "array", "items": idSchema, "maxItems": bulkCounted},
				"children": object{"type": "boolean", "description": "children too"},
				"max":      object{"type": "integer", "minimum": 1, "maximum": 1_000_000, "description": "more jobs are refused"},
				"reason":   reasonSchema,
			},
		},
		"BulkStarted": nothingElse(object{"id": idSchema, "jobs": countSchema}, "id", "jobs"),
		"BulkCount":   nothingElse(object{"jobs": countSchema, "exact": object{"type": "boolean", "description": "false: there may be more"}}, "jobs", "exact"),
		"DeadRefusal": nothingElse(object{"id": idSchema, "problem": ref("Problem")}, "id", "problem"),
		"DeadReport":  nothingElse(object{"done": countSchema, "refused": countSchema, "refusals": list("DeadRefusal")}, "done", "refused", "refusals"),
	}
}
