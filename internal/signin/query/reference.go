package query

// An Operation describes a call that is offered, for the reference.
type Operation struct {
	Service, Name string // as in actions of policies
	Signed        bool   // the caller is authenticated by a signature
	Policies      bool   // they are asked
}

// Operations returns all calls that are offered.
func Operations() (all []Operation) {
	for _, s := range services {
		for _, o := range s.operations {
			all = append(all, Operation{s.name, o.name, !o.unsigned, o.resources != nil})
		}
	}
	return all
}
