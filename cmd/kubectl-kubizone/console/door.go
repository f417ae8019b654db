// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

const (
	tokenAge    = time.Minute
	cookieName  = "kubizone-console"
	maxSessions = 64
	maxEnded    = 1024
)

// door authenticates browsers, so that other processes of the machine cannot read the pages. The user opens an address
// with a token, which is valid once, for a minute. The browser then gets a cookie.
type door struct {
	// host is the console's address and port, for example "127.0.0.1:8053".
	host string
	// base is the path of all pages, with a secret. The cookie has this path, because browsers send a cookie to every
	// port of its host.
	base string
	// file, of mode 0600, redirects a browser to the address with the current token.
	file   string
	report func(format string, args ...any)

	mu sync.Mutex
	// token is the SHA-256 of the current token, created at tokenTime.
	token     [sha256.Size]byte
	tokenTime time.Time
	// endedTokens are used or expired tokens. Their use is reported, because another user may have the token.
	endedTokens map[[sha256.Size]byte]bool
	// sessions maps the SHA-256 of each cookie to the token in the forms of its session.
	sessions map[[sha256.Size]byte]string
}

func newSecret() string {
	var octets [32]byte
	_, _ = rand.Read(octets[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(octets[:])
}

func newDoor(host, file string, report func(format string, args ...any)) *door {
	return &door{host: host, base: "/" + newSecret()[:22], file: file, report: report, endedTokens: map[[sha256.Size]byte]bool{},
		sessions: map[[sha256.Size]byte]string{}}
}

func (d *door) renew() (address string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.renewLocked()
}

// renewLocked replaces the token, and writes the file that has the new address. The caller holds mu. The token counts
// even if the file cannot be written.
func (d *door) renewLocked() (string, error) {
	d.endToken()
	token := newSecret()
	d.token, d.tokenTime = sha256.Sum256([]byte(token)), time.Now()
	address := "http://" + d.host + d.base + "/open?" + url.Values{"token": {token}}.Encode()
	// The page has no referrer, so the token in the address reaches no other server.
	page := "<!doctype html>\n<meta charset=utf-8>\n<meta name=referrer content=no-referrer>\n" +
		"<meta http-equiv=refresh content=\"0; url=" + address + "\">\n<title>Kubizone</title>\n<p><a href=\"" + address +
		"\">Open the console</a>\n"
	next, err := os.CreateTemp(filepath.Dir(d.file), ".console-*") // has mode 0600
	if err != nil {
		return "", fmt.Errorf("the file that opens the console: %w", err)
	}
	defer os.Remove(next.Name())
	_, err = next.WriteString(page)
	if closed := next.Close(); err == nil {
		err = closed
	}
	if err == nil {
		// Replaced at once, so that a browser never reads half a page.
		err = os.Rename(next.Name(), d.file)
	}
	if err != nil {
		return "", fmt.Errorf("the file that opens the console: %w", err)
	}
	return address, nil
}

func (d *door) endToken() {
	if d.tokenTime.IsZero() {
		return
	}
	if len(d.endedTokens) >= maxEnded {
		clear(d.endedTokens)
	}
	d.endedTokens[d.token], d.token = true, [sha256.Size]byte{}
}

// keepOpen renews each token that expires. When done is closed, keepOpen removes the file.
func (d *door) keepOpen(done <-chan struct{}) error {
	for {
		d.mu.Lock()
		left := tokenAge - time.Since(d.tokenTime)
		d.mu.Unlock()
		select {
		case <-done:
			return os.Remove(d.file)
		case <-time.After(max(left, 0)):
		}
		d.mu.Lock()
		var err error
		if time.Since(d.tokenTime) >= tokenAge {
			_, err = d.renewLocked()
		}
		d.mu.Unlock()
		if err != nil {
			return err
		}
	}
}

// admitToken returns the cookie of a new session for a valid token, or nil. A used token ends at once, and the file
// gets another.
func (d *door) admitToken(token string) *http.Cookie {
	d.mu.Lock()
	defer d.mu.Unlock()
	hash := sha256.Sum256([]byte(token))
	switch {
	case d.endedTokens[hash]:
		// The browser gets the same answer as for a wrong token. Only the terminal of the user has the warning.
		d.report("warning: an address that opens the console came a second time or after its minute, and opened nothing. If that was " +
			"not you, another user has it: Ctrl-C ends the console")
		return nil
	case subtle.ConstantTimeCompare(hash[:], d.token[:]) != 1:
		// Compared in constant time, so that another process of the machine learns no part of the token.
		return nil
	case time.Since(d.tokenTime) >= tokenAge:
		return nil
	}
	if _, err := d.renewLocked(); err != nil {
		d.report("warning: %v", err)
	}
	if len(d.sessions) >= maxSessions {
		// Every session ends, and the user opens the file again. 64 browsers are more than a person has.
		clear(d.sessions)
	}
	secret := newSecret()
	d.sessions[sha256.Sum256([]byte(secret))] = newSecret()
	return &http.Cookie{Name: cookieName, Value: secret, Path: d.base + "/", HttpOnly: true, SameSite: http.SameSiteStrictMode}
}

// session returns the form token of the browser's session, or "" without a valid cookie.
func (d *door) session(r *http.Request) string {
	// Another console on the same host may have set a cookie of the same name with another path.
	for _, cookie := range r.CookiesNamed(cookieName) {
		d.mu.Lock()
		form := d.sessions[sha256.Sum256([]byte(cookie.Value))]
		d.mu.Unlock()
		if form != "" {
			return form
		}
	}
	return ""
}

const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; " +
	"base-uri 'none'; frame-ancestors 'none'"

func setHeaders(h http.Header) {
	for name, value := range map[string]string{
		"Content-Security-Policy": policy, "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff",
		"X-Frame-Options": "DENY", "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
		"Permissions-Policy": "clipboard-write=(self)", "Cache-Control": "no-store",
	} {
		h.Set(name, value)
	}
}

// ofThisOrigin reports whether a page of the console sent the request. A page on another port of the host is same-site,
// but not same-origin. Forms of the console have the origin null, because its pages send no referrer.
func (d *door) ofThisOrigin(r *http.Request) bool {
	site, origin := r.Header.Get("Sec-Fetch-Site"), r.Header.Get("Origin")
	return (site == "" || site == "same-origin" || site == "none") &&
		(origin == "" || origin == "http://"+d.host || origin == "null" && site == "same-origin")
}

// isOpening reports whether the user opens the address, perhaps cross-site, as from the file. Frames, scripts and
// prefetches do not count.
func (d *door) isOpening(r *http.Request) bool {
	navigates := func(name, value string) bool { of := r.Header.Get(name); return of == "" || of == value }
	return r.Method == http.MethodGet && r.URL.Path == d.base+"/open" && r.Host == d.host && r.Header.Get("Origin") == "" &&
		navigates("Sec-Fetch-Dest", "document") && navigates("Sec-Fetch-Mode", "navigate") && r.Header.Get("Sec-Purpose") == ""
}

// guardPages calls next for requests with a valid cookie, host and origin, and opens a session for a valid token. All
// others get a code without a body (C2, C3).
func (d *door) guardPages(next func(w http.ResponseWriter, r *http.Request, form string)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setHeaders(w.Header())
		if d.isOpening(r) {
			if cookie := d.admitToken(r.URL.Query().Get("token")); cookie != nil {
				http.SetCookie(w, cookie)
				// A redirect would still be cross-site, and browsers would not send the SameSite cookie.
				w.Header().Set("Content-Type", "text/html; charset=utf-8")
				_, _ = io.WriteString(w, fmt.Sprintf("<!doctype html>\n<html lang=en><meta http-equiv=refresh content=\"0; url=%s/\">"+
					"<title>Kubizone</title><p><a href=\"%[1]s/\">Overview</a>\n", d.base))
				return
			}
		}
		form := d.session(r)
		switch {
		case form == "":
			// Before all other checks, so that a request without a cookie learns nothing of paths and methods.
			w.WriteHeader(http.StatusUnauthorized)
		case r.Host != d.host || !d.ofThisOrigin(r):
			// DNS rebinding: a page of example.org whose name now leads to 127.0.0.1 has the Host example.org.
			w.WriteHeader(http.StatusForbidden)
		case r.URL.Path == "/" && r.Method == http.MethodGet:
			// Browsers send the cookie below the secret path alone, so only other clients get here.
			http.Redirect(w, r, d.base+"/", http.StatusSeeOther)
		case !strings.HasPrefix(r.URL.Path, d.base+"/"):
			w.WriteHeader(http.StatusNotFound)
		default:
			next(w, r, form)
		}
	})
}
