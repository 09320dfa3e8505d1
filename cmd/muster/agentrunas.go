package main

import (
	"errors"
	"fmt"
	"os/user"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-gg/muster/internal/agent/supervisor"
)

// runAs returns the user that --run-as names, as USER or USER:GROUP, and the variables of its programs. euid is the
// user of the agent.
func runAs(text string, euid int, environ []string) (*supervisor.User, []string, error) {
	switch {
	case text == "":
		return nil, environ, nil
	case runtime.GOOS == "windows":
		return nil, nil, errors.New("--run-as does not work on Windows: run the agent as the user of the game servers")
	case euid != 0:
		return nil, nil, errors.New("--run-as needs an agent that is run by root: run it so, or leave the option out")
	}
	u, account, err := findUser(text)
	if err != nil {
		return nil, nil, fmt.Errorf("--run-as: %w", err)
	}
	if u.UID == 0 {
		return nil, nil, errors.New("--run-as must be another user than root")
	}
	own := []string{"HOME=" + account.HomeDir, "USER=" + account.Username, "LOGNAME=" + account.Username}
	environ = slices.DeleteFunc(slices.Clone(environ), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.ContainsFunc(own, func(o string) bool { return strings.HasPrefix(o, name+"=") })
	})
	return u, append(environ, own...), nil
}

// findUser finds a user, with the group that is given, else its own, and its further groups. Users and groups may be
// given by number.
func findUser(text string) (*supervisor.User, *user.User, error) {
	name, group, hasGroup := strings.Cut(text, ":")
	account, err := user.Lookup(name)
	if err != nil {
		if account, err = user.LookupId(name); err != nil {
			return nil, nil, fmt.Errorf("this system has no user %q", name)
		}
	}
	gid := account.Gid
	if hasGroup {
		found, err := user.LookupGroup(group)
		if err != nil {
			if found, err = user.LookupGroupId(group); err != nil {
				return nil, nil, fmt.Errorf("this system has no group %q", group)
			}
		}
		gid = found.Gid
	}
	groups, err := account.GroupIds()
	if err != nil {
		return nil, nil, err
	}
	u := new(supervisor.User)
	if u.UID, err = number32(account.Uid); err != nil {
		return nil, nil, err
	}
	if u.GID, err = number32(gid); err != nil {
		return nil, nil, err
	}
	for _, g := range groups {
		n, err := number32(g)
		if err != nil {
			return nil, nil, err
		}
		u.Groups = append(u.Groups, n)
	}
	return u, account, nil
}

func number32(text string) (uint32, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	return uint32(n), err
}
