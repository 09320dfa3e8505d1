package operator

// A Setting is a setting of the service with its value. Values never have secrets: they are in files.
type Setting struct {
	Name   string `json:"name"`
	Group  string `json:"group"`
	Value  string `json:"value"`            // in the form of a flag, URLs without users and queries
	Source string `json:"source,omitempty"` // "default", "file PATH", "environment NAME" or "flag --name"; "": unknown
	Usage  string `json:"usage"`
}

// SettingList is the answer of GET /v1/settings.
type SettingList struct {
	Settings []Setting `json:"settings"`
}

func (d *Handler) allSettings(*call) (SettingList, error) { return SettingList{d.Settings}, nil }
