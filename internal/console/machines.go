package console

import (
	"net/http"
	"net/url"

	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/machines"
)

// A machinesBody is a page of the machines of the region.
type machinesBody struct {
	control.MachineList
	Status   machines.Status // that is shown; "": any
	Location string          // that is shown; "": any
}

func machinesPage(v *visit) error { return v.machines(nil) }

func (v *visit) machines(refused error) error {
	b := machinesBody{Status: machines.Status(v.r.URL.Query().Get("status")),
		Location: v.r.URL.Query().Get("location")}
	path := v.rowsOf("machines")
	for name, value := range map[string]string{"status": string(b.Status), "location": b.Location} {
		if value != "" {
			path += "&" + url.Values{name: {value}}.Encode()
		}
	}
	if err := v.request(http.MethodGet, path, nil, &b.MachineList); err != nil {
		return err
	}
	p := page{Title: "Machines", Nav: "/console/machines", Live: refused == nil, Body: &b}
	return v.refused("machines", p, refused)
}

// Statuses are the choices of the form.
func (*machinesBody) Statuses() []machines.Status {
	return []machines.Status{machines.Online, machines.Reconnecting, machines.Lost}
}

// Next is the address of the next page; "": there is none.
func (b *machinesBody) Next() string {
	if b.NextToken == "" {
		return ""
	}
	q := url.Values{"next": {b.NextToken}}
	if b.Status != "" {
		q.Set("status", string(b.Status))
	}
	if b.Location != "" {
		q.Set("location", b.Location)
	}
	return "/console/machines?" + q.Encode()
}

func drainMachine(v *visit) error { return v.changeMachine("drain", "machine-drained") }

func undrainMachine(v *visit) error { return v.changeMachine("undrain", "machine-undrained") }

func (v *visit) changeMachine(verb, done string) error {
	return v.perform(http.MethodPost, in("machines", v.r.PathValue("name"), verb), nil, "/console/machines?done="+done,
		v.machines)
}

func deleteMachine(v *visit) error {
	name := v.r.PathValue("name")
	if v.form("confirm") != name {
		return v.machines(invalid("Type the name of the machine, %s, to delete it.", name))
	}
	path := in("machines", name)
	if v.form("force") != "" {
		path += "?force=true"
	}
	return v.perform(http.MethodDelete, path, nil, "/console/machines?done=machine-deleted", v.machines)
}
