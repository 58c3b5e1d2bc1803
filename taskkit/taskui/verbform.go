package taskui

// verbForm is the form of an action with a task.
type verbForm struct {
	ID       string // of the dialog
	Verb     string
	Path     string // of the action, or of the page that has it, below the dashboard
	Back     string // below the dashboard
	Button   string
	Text     string // what the action does
	Revision string
	Fields   []field
	Destroys bool
	Dialog   bool // the page has the form, in a dialog
}

// field is an input of a form.
type field struct{ Name, Label, Value, Kind, Help string }
