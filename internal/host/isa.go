package host

// feature is one instruction set and whether this processor has it.
type feature struct {
	name string
	has  bool
}

// present lists the names of the features at hand; never nil, so that JSON shows a list.
func present(all []feature) []string {
	names := []string{}
	for _, f := range all {
		if f.has {
			names = append(names, f.name)
		}
	}
	return names
}
