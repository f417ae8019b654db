// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/pkg/bind9/fleet/render"
	"kubi.zone/kubizone/test/rig"
)

// hostileTexts would end a string, a statement or a line, or begin another.
var hostileTexts = func() []string {
	texts := []string{"\"", "\\", "{", "}", ";", "\n", "\r", "\x00", "/*", "//", "#", "%s%!", "key any", "any; any"}
	for _, end := range []string{"", `"`, "\n", "; };", `" };`, `\"; };`, "; }; };"} {
		for _, statement := range []string{`zone "evil.example" { type primary; file "/etc/passwd"; };`, `include "/etc/passwd";`} {
			texts = append(texts, "x"+end+" "+statement, "x"+end+"\n"+statement+" //")
		}
	}
	return texts
}()

// visitTexts visits all settable strings of a value with their place, value and setter. An empty pointer, list or map
// that could hold strings fails the test.
func visitTexts(t *testing.T, at string, v reflect.Value, visit func(at, is string, set func(string))) {
	switch v.Kind() {
	case reflect.String:
		if v.CanSet() {
			visit(at, v.String(), v.SetString)
		}
	case reflect.Pointer:
		if v.IsNil() {
			if hasText(v.Type()) {
				t.Errorf("%s is nil: set it, so that its strings are tried", at)
			}
			return
		}
		visitTexts(t, at, v.Elem(), visit)
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.IsExported() {
				visitTexts(t, at+"."+field.Name, v.Field(i), visit)
			}
		}
	case reflect.Slice:
		if v.Len() == 0 && hasText(v.Type()) {
			t.Errorf("%s is empty: set it, so that its strings are tried", at)
		}
		for i := range v.Len() {
			visitTexts(t, fmt.Sprintf("%s[%d]", at, i), v.Index(i), visit)
		}
	case reflect.Map:
		if v.Len() == 0 {
			t.Errorf("%s is empty: set it, so that its strings are tried", at)
		}
		for _, key := range v.MapKeys() {
			value := v.MapIndex(key)
			visit(fmt.Sprintf("%s[%s]", at, key), value.String(), func(text string) { v.SetMapIndex(key, reflect.ValueOf(text)) })
			visit(at+" key", key.String(), func(text string) { v.SetMapIndex(reflect.ValueOf(text), value) })
		}
	}
}

func hasText(of reflect.Type) bool {
	switch of.Kind() {
	case reflect.String, reflect.Map:
		return true
	case reflect.Pointer, reflect.Slice:
		return hasText(of.Elem())
	case reflect.Struct:
		for i := range of.NumField() {
			if field := of.Field(i); field.IsExported() && hasText(field.Type) {
				return true
			}
		}
	}
	return false
}

func fullServer(role bind9.Role) render.Server {
	instance, cluster := allSettings()
	instance.Spec.Role = role
	cluster.Spec.Primary = cluster.Spec.Secondary
	instance.Spec.Service, instance.Spec.Resources = cluster.Spec.Secondary.Service, cluster.Spec.Secondary.Resources
	settings := &cluster.Spec.ServerSettings
	settings.Agent.Image = settings.Image.DeepCopy()
	settings.ZoneNamespaces = &bind9.NamespaceSelection{Names: []string{"a"}, Selector: &metav1.LabelSelector{
		MatchLabels: map[string]string{"a": "b"}, MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a",
			Operator: metav1.LabelSelectorOpIn, Values: []string{"b"}}},
	}}
	instance.Spec.TSIGKey = &bind9.TSIGKey{Algorithm: bind9.KeyHMACSHA256}
	server := newServer(instance, cluster)
	server.Policies = []bind9.DNSSECPolicy{{Name: "yearly", Algorithm: bind9.DNSSECED25519}}
	other := func(prefix string, octet byte) *render.Key {
		made := makeKey(prefix, octet)
		return &made
	}
	server.Transfer.Next, server.Transfer.Former = other("bind9", 4), other("bind9", 5)
	server.Peers = &render.TransferKeys{Key: makeKey("bind9", 6), Next: other("bind9", 7), Former: other("bind9", 8)}
	server.Catalogs = makeCatalogs()
	server.HiddenPrimaries, server.UnkeyedPrimaries = makeCatalogs()[0].Primaries, []netip.Addr{netip.MustParseAddr("192.0.2.10")}
	reader := []types.NamespacedName{{Namespace: "kubizone-system", Name: "kubizone"}}
	server.Platform.KeyReaders, server.Platform.AgentReaders = reader, reader
	return server
}

// listElement matches a list element in the output of named-checkconf: a value, not a statement.
var listElement = regexp.MustCompile(`^!?("[^"]*"|any|none|localhost|localnets|[0-9a-f.:/]+)( port [0-9]+)?( key "[^"]*")?;$`)

// countStatements counts statements by first word in the output of named-checkconf.
func countStatements(config string) map[string]int {
	count := map[string]int{}
	for line := range strings.Lines(config) {
		line = strings.TrimSpace(line)
		if word, _, _ := strings.Cut(strings.TrimRight(line, ";"), " "); !listElement.MatchString(line) {
			count[word]++
		}
	}
	return count
}

// R2, attack 92: each string made hostile gives an error, or named-checkconf reads only the statements of the
// template.
func TestFiles_noStringIsAStatement(t *testing.T) {
	program := rig.Need(rig.Find("named-checkconf", "apt-get install bind9-utils"))(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	dir := t.TempDir()
	for _, role := range []bind9.Role{bind9.RoleSecondary, bind9.RoleSigner} {
		known := map[string]bool{}
		// read counts the statements; nil means a configuration already read.
		read := func(server render.Server) (count map[string]int, refused error) {
			files, of := server.Files()
			keys, ofKeys := server.KeyFiles()
			hash := render.Hash(files, keys)
			if refused := errors.Join(of, ofKeys); refused != nil || known[hash] {
				return nil, refused
			}
			known[hash] = true
			result, refused := checkConf(ctx, t, program, dir, server)
			out, err := exec.CommandContext(ctx, program, "-p", filepath.Join(dir, "named.conf")).Output()
			if err = errors.Join(result.err, err); err != nil {
				t.Errorf("%s: BIND does not take what is rendered: %v: %s", role, err, result.out)
			}
			return countStatements(string(out)), refused
		}
		template, err := read(fullServer(role))
		if err != nil || template["zone"] == 0 || template["key"] == 0 {
			t.Fatal(template, err)
		}
		places, refused, written := 0, 0, 0
		whole := fullServer(role)
		visitTexts(t, "", reflect.ValueOf(&whole), func(string, string, func(string)) { places++ })
	places:
		for place := range places {
			for i, hostile := range slices.Concat(hostileTexts, hostileTexts) {
				server, n, where := fullServer(role), 0, ""
				visitTexts(t, "", reflect.ValueOf(&server), func(at, is string, set func(string)) {
					if n == place {
						if where = at; i >= len(hostileTexts) {
							hostile = is + hostile
						}
						set(hostile)
					}
					n++
				})
				has, err := read(server)
				switch {
				case err != nil:
					refused++
					continue
				case has == nil:
					continue places // in no file
				}
				written++
				for word, count := range has {
					if count > template[word] {
						t.Errorf("BIND reads %d of %q, and the template has %d", count, word, template[word])
					}
				}
				if t.Failed() {
					t.Fatalf("%s: %q at %s", role, hostile, where)
				}
			}
		}
		t.Logf("%s: of %d strings, %d texts are refused, and %d are written", role, places, refused, written)
		if refused == 0 {
			t.Error("nothing is refused")
		}
	}
}
