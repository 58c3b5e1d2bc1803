package taskpolicy

// Rules are what a task was given about errors, see taskkit.Client.Rules. The zero value is nothing.
type Rules struct {
	Strategy Strategy `json:"strategy,omitempty"`
	Policies Policies `json:"policies,omitempty"`
	// Fired are the names of the policies that have fired and are not set again.
	Fired []string `json:"fired,omitempty"`
}
