// The comparison of gamenet with other network libraries is a module of its own,
// so that those are no dependencies of the service.
module github.com/muster-gg/muster/e2e/netbench

go 1.26.0

require (
	github.com/cloudwego/netpoll v0.7.2
	github.com/muster-gg/muster v0.0.0
	golang.org/x/sync v0.24.0
	golang.org/x/sys v0.49.0
)

require (
	github.com/bytedance/gopkg v0.1.1 // indirect
	github.com/cloudwego/gopkg v0.1.4 // indirect
	github.com/jonboulle/clockwork v0.5.0 // indirect
)

replace github.com/muster-gg/muster => ../..
