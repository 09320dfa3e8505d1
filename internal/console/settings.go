package console

// A settingsBody is the settings of the node that answers, by group.
type settingsBody struct {
	Filter string
	Groups []settingGroup
}

type settingGroup struct {
	Name     string
	Settings []setting
}

// A setting is what GET /v1/settings answers about one.
type setting struct {
	Name, Group, Value, Source, Usage string
}

func settingsPage(v *visit) error {
	var answer struct{ Settings []setting }
	if err := v.request("GET", in("settings"), nil, &answer); err != nil {
		return err
	}
	b := settingsBody{Filter: v.form("show")}
	for _, s := range answer.Settings {
		if b.Filter == "changed" && (s.Source == "" || s.Source == "default") {
			continue
		}
		if n := len(b.Groups); n == 0 || b.Groups[n-1].Name != s.Group {
			b.Groups = append(b.Groups, settingGroup{Name: s.Group})
		}
		g := &b.Groups[len(b.Groups)-1]
		g.Settings = append(g.Settings, s)
	}
	return v.show("settings", page{Title: "Settings", Nav: "/console/settings", Body: b})
}
