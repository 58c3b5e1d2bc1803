package taskhttp

import (
	"net/http"

	"taskkit.dev/taskkit/taskdoctor"
)

// readDoctor sends what is wrong.
func (s *Server) readDoctor(w http.ResponseWriter, r *http.Request, _ Caller) error {
	if _, err := query(r); err != nil {
		return err
	}
	report, err := taskdoctor.Run(r.Context(), s.db, s.config.Doctor)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, mediaJSON, report)
	return nil
}

// doctorSchemas describe the report. "taskkit doctor -o json" prints the same.
func doctorSchemas() object {
	list := object{"type": "array", "items": textSchema}
	return object{
		"Finding": nothingElse(object{
			"id":       object{"type": "string", "description": "what kind of finding it is; stable"},
			"severity": object{"type": "string", "enum": []taskdoctor.Severity{taskdoctor.Info, taskdoctor.Warning, taskdoctor.Error}},
			"text":     textSchema, "since": timeSchema,
			"affected": list, "more": object{"type": "integer", "minimum": 1, "description": "how many are affected besides those that are listed"},
			"fix": textSchema, "command": object{"type": "string", "description": "a command line that mends it, or shows what to do next"},
			"sql": object{"type": "string", "description": "a statement that mends it"}, "docs": object{"type": "string", "format": "uri"},
		}, "id", "severity", "text", "fix"),
		"UnknownCheck": nothingElse(object{"check": textSchema, "reason": textSchema}, "check", "reason"),
		"DoctorReport": nothingElse(object{
			"at": timeSchema, "dialect": object{"type": "string", "description": "the name of the database"}, "schema": textSchema, "version": textSchema, "checks": list,
			"findings": object{"type": "array", "items": ref("Finding"), "description": "the worst first"},
			"unknown":  object{"type": "array", "items": ref("UnknownCheck"), "description": "the checks that could not read what they need"},
		}, "at", "dialect", "version", "checks", "findings", "unknown"),
	}
}
