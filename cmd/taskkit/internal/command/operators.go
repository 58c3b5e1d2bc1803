package command

import (
	"encoding/json"

	"taskkit.dev/taskkit"
)

// taskJSON is a task in JSON for operators, with what the JSON of a [taskkit.Task] leaves out.
type taskJSON struct {
	*taskkit.Task
	Spec         json.RawMessage `json:"spec,omitempty"`
	State        json.RawMessage `json:"state,omitempty"`
	StatusDetail string          `json:"status_detail,omitempty"`
}

func operatorsTask(t *taskkit.Task) taskJSON {
	return taskJSON{Task: t, Spec: t.SpecJSON, State: t.StateJSON, StatusDetail: t.StatusDetail}
}

// childJSON is a child in JSON for operators, with what the JSON of a [taskkit.Child] leaves out.
type childJSON struct {
	*taskkit.Child
	StatusDetail string `json:"status_detail,omitempty"`
}

func operatorsChild(c *taskkit.Child) childJSON {
	return childJSON{Child: c, StatusDetail: c.StatusDetail}
}
