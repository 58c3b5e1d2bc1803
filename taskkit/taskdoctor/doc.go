// Package taskdoctor looks for what is wrong with the tasks, the workers, the schedules and the database of a taskkit, and
// says how to mend it. [Run] returns a [Report]. The command "taskkit doctor" prints the same report, and package taskhttp
// serves it to operators.
//
// [Findings] lists what it can find; docs/doctor.md has a section for each. Why tasks wait is said in the words of package
// taskcause, as by Client.Explain.
package taskdoctor
