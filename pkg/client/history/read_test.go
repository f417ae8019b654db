// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	typed "kubi.zone/kubizone/api/client/clientset/versioned/typed/kubizone/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/test/must"
)

// serveAnswers returns a client of a server that answers with f.
func serveAnswers(t *testing.T, f http.HandlerFunc) typed.KubizoneV1alpha1Interface {
	t.Helper()
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
	return must.Get(versioned.NewForConfig(config))(t).KubizoneV1alpha1()
}

// servePages returns a Reader of a server whose answers about a namespace's Records are pages.
func servePages(t *testing.T, pages ...[]v1alpha1.HistoryStep) *Reader {
	t.Helper()
	client := serveAnswers(t, func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/namespaces/team/records/-/changes") || r.URL.Query().Get("enclosing") == "" {
			http.Error(w, r.URL.String(), http.StatusNotFound)
			return
		}
		i, _ := strconv.Atoi(r.URL.Query().Get("continue"))
		answer := v1alpha1.RecordChanges{History: pages[i]}
		answer.SetGroupVersionKind(v1alpha1.SchemeGroupVersion.WithKind("RecordChanges"))
		if i+1 < len(pages) {
			answer.Metadata.Continue = fmt.Sprint(i + 1)
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer)
	})
	return &Reader{Client: client}
}

func ofZone(fqdn string, x v1alpha1.HistoryStep) v1alpha1.HistoryStep {
	x.FQDN = fqdn
	return x
}

// A tenant's steps may be in several zones and come in separate pages. They are sorted by time. Serials of different
// zones cannot be compared, so to go back beyond a zone a time is needed, not a serial.
func TestRead_ofATenantInSeveralZones(t *testing.T) {
	step := func(fqdn string, serial int64) v1alpha1.HistoryStep {
		return ofZone(fqdn, makeStep(serial, v1alpha1.EffectAdded, nil, makeRecord("team", "www", "www", "192.0.2.1")))
	}
	const org, sub = "example.org.", "sub.example.org."
	r := servePages(t, []v1alpha1.HistoryStep{step(org, 9), step(org, 2)}, nil,
		[]v1alpha1.HistoryStep{step(sub, 8), step(sub, 5), step("example.net.", 4)})
	at := func(hours int) Moment { return Moment{Time: noon.Add(time.Duration(hours)*time.Hour + time.Minute)} }
	for _, tt := range []struct {
		name  string
		to    Moment
		want  []int64
		fault string
	}{
		{"www.sub.example.org.", at(6), []int64{9, 8}, ""},
		{"www.sub.example.org.", at(2), []int64{9, 8, 5}, ""},
		{"www.sub.example.org.", Moment{Serial: 5}, nil, "write a time, not serial 5"},
		{sub, Moment{Serial: 5}, []int64{8}, ""},
		{"www.example.org.", Moment{Serial: 2}, []int64{9}, ""},
	} {
		past := must.Get(r.Read(t.Context(), Subject{Name: name.MustParse(tt.name), Namespace: "team"}, func(x *v1alpha1.HistoryStep) bool {
			return !tt.to.IsBefore(x)
		}))(t)
		steps, err := past.Since(tt.to)
		var got []int64
		for i := range steps {
			got = append(got, steps[i].Serial)
		}
		if !slices.Equal(got, tt.want) || (err == nil) != (tt.fault == "") || err != nil && !strings.Contains(err.Error(), tt.fault) {
			t.Errorf("%s back to %s: serials %d, want %d, error %v", tt.name, tt.to, got, tt.want, err)
		}
	}
}

// A tenant may not read the users of all steps, only of its own. Its own steps come from another request, and their
// users are filled in for every own step, however early the caller ends the reading.
func TestRead_knowsEveryOwnStep(t *testing.T) {
	steps := func(by string) (all []v1alpha1.HistoryStep) {
		for n := int64(5); n > 0; n-- {
			all = append(all, v1alpha1.HistoryStep{FQDN: "example.org.", From: n - 1, Serial: n, ContentGeneration: n, By: by})
		}
		return all
	}
	served := 0
	client := serveAnswers(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.URL.Query().Get("limit") != "5":
			w.WriteHeader(http.StatusBadRequest)
		case strings.Contains(r.URL.Path, "/records/"):
			served++
			_ = json.NewEncoder(w).Encode(&v1alpha1.RecordChanges{History: steps("alice"), Metadata: v1alpha1.ZoneViewMeta{Continue: "x"}})
		case r.URL.Query().Get("sources") == "true":
			w.WriteHeader(http.StatusForbidden)
			_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
				Status: metav1.StatusFailure, Reason: metav1.StatusReasonForbidden, Code: http.StatusForbidden})
		default:
			_ = json.NewEncoder(w).Encode(&v1alpha1.ZoneChanges{FQDN: "example.org.", History: steps("")})
		}
	})
	zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: "platform", Name: "zone"},
		Status: v1alpha1.ZoneStatus{FQDN: "example.org."}}
	read := 0
	past := must.Get((&Reader{Client: client, Page: 5}).Read(t.Context(), Subject{Zone: zone, Namespace: "team"},
		func(*v1alpha1.HistoryStep) bool { read++; return read == 3 }))(t)
	if len(past.Steps) != 3 || !past.Masked || served != 1 {
		t.Fatalf("%d steps, masked %t, own pages %d", len(past.Steps), past.Masked, served)
	}
	for _, x := range past.Steps {
		if x.By != "alice" {
			t.Errorf("serial %d by %q", x.Serial, x.By)
		}
	}
}

// LastOfZone returns a zone's last change with its user, if the caller may read users, and otherwise without. Tenants
// read Events, so a user is never written into an Event.
func TestLastOfZone_hasTheUserForThoseWhoMayReadUsers(t *testing.T) {
	mayRead := false
	client := serveAnswers(t, func(w http.ResponseWriter, r *http.Request) {
		sources := r.URL.Query().Get("sources") == "true"
		w.Header().Set("Content-Type", "application/json")
		if sources && !mayRead {
			w.WriteHeader(http.StatusForbidden)
			_ = json.NewEncoder(w).Encode(apierrors.NewForbidden(v1alpha1.Resource("zones"), "zone", nil).Status())
			return
		}
		step := v1alpha1.HistoryStep{Serial: 5}
		if sources {
			step.By = "alice"
		}
		answer := v1alpha1.ZoneChanges{History: []v1alpha1.HistoryStep{step}}
		answer.SetGroupVersionKind(v1alpha1.SchemeGroupVersion.WithKind("ZoneChanges"))
		_ = json.NewEncoder(w).Encode(answer)
	})
	r := &Reader{Client: client}
	for _, mayRead = range []bool{false, true} {
		want := map[bool]string{true: "alice"}[mayRead]
		if step, err := r.LastOfZone(t.Context(), "dns", "zone"); step == nil || step.By != want {
			t.Errorf("may read users: %t: %+v, %v", mayRead, step, err)
		}
	}
}
