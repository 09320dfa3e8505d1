package signin

import (
	"fmt"
	"net/url"
	"testing"

	"github.com/muster-gg/muster/internal/catalog"
)

// accessToken signs in by the device grant.
func (w *world) accessToken() string {
	w.t.Helper()
	c := w.register(object{})
	device, user := w.device(c)
	w.signIn("ada")
	w.decide(user, "allow").status(200)
	return w.poll(0, c, device).object()["accessToken"].(string)
}

func TestPortal(t *testing.T) {
	w := newWorld(t)
	token := header("x-amz-sso_bearer_token", w.accessToken())
	get := func(path string, options ...option) answer { return w.do("GET", path, "", options...) }

	m := get("/federation/credentials?account_id="+account+"&role_name=GameDev", token).
		object()["roleCredentials"].(map[string]any)
	if m["accessKeyId"] != "ASIAEXAMPLE" || m["secretAccessKey"] != "secret" || m["sessionToken"] != "token" {
		t.Errorf("%v", m)
	}
	if ms := m["expiration"].(float64) - float64(w.clock.Now().UnixMilli()); ms != 3600_000 {
		t.Errorf("expires in %v ms", ms)
	}
	accounts := get("/assignment/accounts?next_token=&max_result=", token).object()
	if s := fmt.Sprint(accounts); s != "map[accountList:[map[accountId:111122223333 accountName:studio "+
		"emailAddress:ada@example.com]] nextToken:<nil>]" {
		t.Error(s)
	}
	roles := get("/assignment/roles?account_id="+account, token).object()
	if s := fmt.Sprint(roles); s != "map[nextToken:<nil> roleList:[map[accountId:111122223333 roleName:GameAdmin] "+
		"map[accountId:111122223333 roleName:GameDev]]]" {
		t.Error(s)
	}

	for path, want := range map[string]struct {
		status    int
		exception string
	}{
		"/federation/credentials?role_name=Root&account_id=" + account:      {403, "ForbiddenException"},
		"/federation/credentials?role_name=GameDev&account_id=999999999999": {403, "ForbiddenException"},
		"/federation/credentials?role_name=GameDev":                         {400, "InvalidRequestException"},
		"/federation/credentials?account_id=" + account:                     {400, "InvalidRequestException"},
		"/assignment/roles":                                    {400, "InvalidRequestException"},
		"/assignment/roles?account_id=999999999999":            {403, "ForbiddenException"},
		"/assignment/roles?max_result=0&account_id=" + account: {400, "InvalidRequestException"},
		"/assignment/accounts?max_result=101":                  {400, "InvalidRequestException"},
	} {
		get(path, token).fails(want.status, want.exception, "")
	}
	get("/federation/credentials?role_name=Root&account_id="+account, token).has("No access")
	for _, path := range []string{"/federation/credentials", "/assignment/roles", "/assignment/accounts"} {
		get(path).fails(401, "UnauthorizedException", "")
		get(path, header("x-amz-sso_bearer_token", "mua_unknown")).fails(401, "UnauthorizedException", "")
	}

	if body := w.do("POST", "/logout", "", token).status(200).Body.String(); body != "" {
		t.Errorf("logout answers %q", body)
	}
	w.do("POST", "/logout", "", token).fails(401, "UnauthorizedException", "")
	get("/federation/credentials?role_name=GameDev&account_id="+account, token).fails(401, "UnauthorizedException", "")
}

func TestPortalPages(t *testing.T) {
	w := newWorld(t)
	token := header("x-amz-sso_bearer_token", w.accessToken())
	var roles []*catalog.Role
	for i := range 230 {
		roles = append(roles, &catalog.Role{Name: fmt.Sprintf("role-%03d", i)})
	}
	w.access.users["ada"].roles = roles
	next, all := "", 0
	for pages := 0; ; pages++ {
		m := w.do("GET", "/assignment/roles?max_result=100&account_id="+account+"&next_token="+url.QueryEscape(next),
			"", token).
			object()
		list := m["roleList"].([]any)
		if first := list[0].(map[string]any)["roleName"]; first != fmt.Sprintf("role-%03d", all) {
			t.Errorf("a page begins with %v", first)
		}
		all += len(list)
		if m["nextToken"] == nil {
			break
		}
		next = m["nextToken"].(string)
	}
	if all != 230 {
		t.Errorf("%d roles", all)
	}
	w.access.users["ada"].roles = nil
	if list := w.do("GET", "/assignment/accounts", "", token).object()["accountList"].([]any); len(list) != 0 {
		t.Errorf("%v", list)
	}
	w.access.disable("ada")
	w.do("GET", "/assignment/accounts", "", token).fails(401, "UnauthorizedException", "")
}
