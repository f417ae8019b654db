// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bytes"
	"context"
	"crypto/subtle"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"path"
	"strings"
	"time"

	"kubi.zone/kubizone/pkg/kit/terminal"
)

const (
	readTime = 30 * time.Second
	maxForm  = 8 << 20
)

//go:embed published/*.js published/*.css pages
var files embed.FS

type view struct {
	// path is a pattern of http.ServeMux below door.base, for example "/zones/{namespace}/{name}".
	path string
	name string // of the template's file, without .html
	load func(r *reading, request *http.Request) (any, error)
	// sources returns the lists that the page depends on. After each change of a list, an open page gets its template
	// "live" again, by server-sent events. For a page that does not change, sources is nil or returns nothing.
	sources func(r *reading, request *http.Request) []source
	page    *template.Template
}

type site struct {
	*reading
	door     *door
	views    []*view
	routes   *http.ServeMux
	followed chan struct{}
}

type shown struct {
	Base, Form, Path, Query, Host string
	Live                          string // path of the stream, or ""
	Data                          any
	Problem                       *problem
}

var views = []view{
	{path: "/{$}", name: "overview", load: loadOverview, sources: overviewSources},
	{path: "/zones", name: "zones", load: loadZones, sources: zonesSources},
	{path: "/zones/search", name: "search", load: loadSearch},
	{path: "/zones/{namespace}/{name}", name: "zone", load: loadZone(""), sources: zoneSources()},
	{path: "/zones/{namespace}/{name}/history", name: "zone", load: loadZone("history"), sources: zoneSources()},
	{path: "/zones/{namespace}/{name}/delivery", name: "zone", load: loadZone("delivery"),
		sources: zoneSources("deliveries")},
	{path: "/zones/{namespace}/{name}/rules", name: "zone", load: loadZone("rules"), sources: zoneSources("delegations")},
	{path: "/zones/{namespace}/{name}/dnssec", name: "zone", load: loadZone("dnssec"), sources: zoneSources()},
	{path: "/records", name: "records", load: loadRecords, sources: recordsSources},
	{path: "/name", name: "name", load: loadName},
	{path: "/may", name: "may", load: loadMay},
	{path: "/plan", name: "plan", load: loadPlan},
}

func newSite(r *reading, d *door) *site {
	r.base = d.base
	s := &site{reading: r, door: d, routes: http.NewServeMux(), followed: make(chan struct{}, maxFollowed)}
	layout := template.Must(template.New("layout.html").Funcs(functions).ParseFS(files, "pages/layout.html"))
	// A copy of the view, because each site has templates of its own.
	for i := range views {
		v := views[i]
		v.page = template.Must(template.Must(layout.Clone()).ParseFS(files, "pages/"+v.name+".html"))
		s.views = append(s.views, &v)
		s.routes.HandleFunc(v.path, s.handler(&v, s.showPage))
		if v.sources != nil {
			s.routes.HandleFunc("GET /live"+v.path, s.handler(&v, s.streamPage))
		}
	}
	s.routes.HandleFunc("GET /files/{name}", serveFile)
	return s
}

func (s *site) handler(v *view, do func(http.ResponseWriter, *http.Request, *view, string)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { do(w, r, v, r.Context().Value(formKey{}).(string)) }
}

type formKey struct{}

// serveRequest routes a request that guardPages has let in. Forms need the token of the session (C3), and are read only
// up to maxForm.
func (s *site) serveRequest(w http.ResponseWriter, r *http.Request, form string) {
	switch r.Method {
	case http.MethodGet, http.MethodHead:
	case http.MethodPost:
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		// Files of a plan are multipart. ParseMultipartForm reads other forms too, and reports those by
		// ErrNotMultipart.
		if err := r.ParseMultipartForm(maxForm); err != nil && !errors.Is(err, http.ErrNotMultipart) {
			http.Error(w, fmt.Sprintf("the form cannot be read, or has more than %d MiB", maxForm>>20), http.StatusBadRequest)
			return
		}
		// A page of another origin can send a form with the cookie, but cannot read the token.
		if subtle.ConstantTimeCompare([]byte(r.PostForm.Get("form")), []byte(form)) != 1 {
			w.WriteHeader(http.StatusForbidden)
			return
		}
	default:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	r = r.WithContext(context.WithValue(r.Context(), formKey{}, form))
	http.StripPrefix(s.door.base, s.routes).ServeHTTP(w, r)
}

// serveFile serves a script, style or picture of the program, and answers 404 for other names.
func serveFile(w http.ResponseWriter, r *http.Request) {
	name := path.Base(r.PathValue("name"))
	kind := map[string]string{".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
		".svg": "image/svg+xml"}[path.Ext(name)]
	for _, directory := range []string{"pages/", "published/"} {
		if text, err := files.ReadFile(directory + name); err == nil && kind != "" {
			w.Header().Set("Content-Type", kind)
			w.Header().Set("Cache-Control", "private, max-age=86400") // each process has another address
			_, _ = w.Write(text)
			return
		}
	}
	http.NotFound(w, r)
}

// dataOf loads the data of a page within readTime. An error becomes the Problem of the page. Live is set if the page
// can follow its lists.
func (s *site) dataOf(r *http.Request, v *view, form string) *shown {
	ctx, cancel := context.WithTimeout(r.Context(), readTime)
	defer cancel()
	data, err := v.load(s.reading, r.WithContext(ctx))
	// A stream has the path of its page, after "/live".
	at := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, s.door.base), "/live")
	out := &shown{Base: s.door.base, Form: form, Path: at, Query: r.URL.RawQuery, Host: s.config.Host, Data: data}
	if v.sources != nil && len(v.sources(s.reading, r)) > 0 {
		if out.Live = s.door.base + "/live" + at; out.Query != "" {
			out.Live += "?" + out.Query
		}
	}
	if err != nil {
		out.Problem = problemOf(err)
	}
	return out
}

// showPage renders a page with its layout. A page with a Problem follows no lists, so its user reloads it.
func (s *site) showPage(w http.ResponseWriter, r *http.Request, v *view, form string) {
	data := s.dataOf(r, v, form)
	code := http.StatusOK
	if data.Problem != nil {
		code, data.Live = data.Problem.code(), ""
	}
	// Render before the header, so that a failed template gives the code 500 instead of half a page.
	text, err := render(v.page, "layout.html", data)
	if err != nil {
		http.Error(w, "the page cannot be shown: "+terminal.Escape(err.Error()), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write(text)
}

func (s *site) renderLive(r *http.Request, v *view, form string) ([]byte, error) {
	return render(v.page, "part", s.dataOf(r, v, form))
}

// render executes a template and escapes control and format characters in its output.
func render(page *template.Template, name string, data any) ([]byte, error) {
	var text bytes.Buffer
	err := page.ExecuteTemplate(terminal.NewWriter(&text), name, data)
	return text.Bytes(), err
}

type problem struct {
	Lack   *lack
	Text   string
	absent bool
}

func problemOf(err error) *problem {
	var missing *lack
	if errors.As(err, &missing) {
		return &problem{Lack: missing}
	}
	return &problem{Text: err.Error(), absent: errors.Is(err, errAbsent)}
}

func (p *problem) code() int {
	switch {
	case p.absent:
		return http.StatusNotFound
	case p.Lack != nil && p.Lack.Reason == "":
		return http.StatusForbidden
	}
	return http.StatusBadGateway
}
