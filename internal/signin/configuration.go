package signin

import "net/http"

// A configuration is what a client must know before it can sign in; muster configure asks for it.
type configuration struct {
	Region   string `json:"region"`
	Account  string `json:"account"`
	StartURL string `json:"startUrl"`
	CA       string `json:"caPem,omitempty"`
}

// configuration answers anybody: nothing of it is secret.
func (h *Handler) configuration(v *visit) error {
	h.write(v, http.StatusOK, configuration{Region: h.Region, Account: h.Account, StartURL: h.startURL(), CA: h.CA})
	return nil
}
