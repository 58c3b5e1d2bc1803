package taskjson_test

import (
	"errors"
	"testing"

	"github.com/go-json-experiment/json"

	"taskkit.dev/taskkit/taskjson"
)

// TestConvert: errors of the libraries, as a codec by reflection meets them.
func TestConvert(t *testing.T) {
	t.Parallel()
	type value struct {
		List []int8 `json:"list"`
	}
	for src, want := range map[string]taskjson.Error{
		``:                       {Problem: taskjson.Syntax},
		`{"list":[1,`:            {Problem: taskjson.Syntax, Pointer: "/list"},
		`{"list":[1,"x"]}`:       {Problem: taskjson.WrongType, Pointer: "/list/1"},
		`{"list":[1000]}`:        {Problem: taskjson.OutOfRange, Pointer: "/list/0"},
		`{"other":1}`:            {Problem: taskjson.UnknownName, Pointer: "/other"},
		`{"list":[],"list":[]}`:  {Problem: taskjson.DuplicateName, Pointer: "/list"},
		"{\"list\":\"\xff\"}":    {Problem: taskjson.BadUTF8, Pointer: "/list"},
		`{"list":"\ud800"}`:      {Problem: taskjson.LoneSurrogate, Pointer: "/list"},
		`{"list":[]} {"list":1}`: {Problem: taskjson.Syntax},
	} {
		var v value
		err := taskjson.Convert(json.Unmarshal([]byte(src), &v, json.RejectUnknownMembers(true)))
		var got *taskjson.Error
		if !errors.As(err, &got) {
			t.Errorf("%s: %v is not an *Error", src, err)
			continue
		}
		if got.Problem != want.Problem || got.Pointer != want.Pointer {
			t.Errorf("%s: got %s at %q, want %s at %q", src, got.Problem, got.Pointer, want.Problem, want.Pointer)
		}
	}
	if other := errors.New("other"); !errors.Is(taskjson.Convert(other), other) || taskjson.Convert(nil) != nil {
		t.Error("another error is changed")
	}
}
