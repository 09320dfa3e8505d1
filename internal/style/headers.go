package style

import "net/http"

// Protect sets the headers that protect a page: it uses nothing of other origins, it is in no frame, and it tells other
// sites nothing. formOrigin is where its forms may lead to besides this service, "" for nowhere: Chromium applies
// form-action to the redirects that follow a form too.
func Protect(header http.Header, formOrigin string) {
	action := "'self'"
	if formOrigin != "" {
		action += " " + formOrigin
	}
	header.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; "+
		"img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action "+action+
		"; base-uri 'none'; frame-ancestors 'none'")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", "no-store")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
}
