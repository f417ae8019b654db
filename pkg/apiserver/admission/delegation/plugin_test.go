// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation_test

import (
	"context"
	"errors"
	"os"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apiserver/admission/delegation"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
)

func TestMain(m *testing.M) { os.Exit(store.Main(m)) }

func makeChain(t *testing.T, initializers ...admission.PluginInitializer) (admission.ValidationInterface, error) {
	t.Helper()
	plugins := admission.NewPlugins()
	delegation.Register(plugins)
	config := must.Get(admission.ReadAdmissionConfiguration([]string{delegation.PluginName}, "", nil))(t)
	made, err := plugins.NewFromPlugins([]string{delegation.PluginName}, config, admission.PluginInitializers(initializers), nil)
	if err != nil {
		return nil, err
	}
	return made.(admission.ValidationInterface), nil
}

func makeAttributes(operation admission.Operation, resource, subresource string, before, after runtime.Object) admission.Attributes {
	var options runtime.Object = &metav1.CreateOptions{}
	if operation == admission.Update {
		options = &metav1.UpdateOptions{}
	}
	return &annotated{Attributes: admission.NewAttributesRecord(after, before, v1alpha1.Kind("Record").WithVersion("v1alpha1"), "team-a", "www",
		v1alpha1.Resource(resource).WithVersion("v1alpha1"), subresource, operation, options, false, &user.DefaultInfo{Name: "alice"})}
}

type annotated struct {
	admission.Attributes
	taken map[string]string
}

func (a *annotated) AddAnnotation(key, value string) error {
	if err := a.Attributes.AddAnnotation(key, value); err != nil {
		return err
	}
	if a.taken == nil {
		a.taken = map[string]string{}
	}
	a.taken[key] = value
	return nil
}

func annotationsOf(a admission.Attributes) map[string]string { return a.(*annotated).taken }

type fake struct {
	rule          string
	err           error
	asked         int
	before, after *v1alpha1.Record
}

func (f *fake) EarlyRecord(_ context.Context, before, after *v1alpha1.Record) (string, error) {
	f.asked++
	f.before, f.after = before, after
	return f.rule, f.err
}

func TestValidate_asksAboutWritesOfRecordsAlone(t *testing.T) {
	before := store.Record("team-a", "www", "www.example.org.", "A", "192.0.2.1")
	after := store.Record("team-a", "www", "www.example.org.", "A", "192.0.2.2")
	refused := apierrors.NewForbidden(v1alpha1.Resource("records"), "www", errors.New("because"))
	for name, c := range map[string]struct {
		attributes admission.Attributes
		asked      bool
		before     *v1alpha1.Record
	}{
		"create":        {makeAttributes(admission.Create, "records", "", nil, after), true, nil},
		"update":        {makeAttributes(admission.Update, "records", "", before, after), true, before},
		"status":        {makeAttributes(admission.Update, "records", "status", before, after), false, nil},
		"zone":          {makeAttributes(admission.Create, "zones", "", nil, &v1alpha1.Zone{}), false, nil},
		"another group": {admission.NewAttributesRecord(after, nil, v1alpha1.Kind("Record").WithVersion("v1"), "team-a", "www", metav1.SchemeGroupVersion.WithResource("records"), "", admission.Create, &metav1.CreateOptions{}, false, nil), false, nil},
		"delete (S2.4)": {makeAttributes(admission.Delete, "records", "", before, nil), false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{err: refused}
			plugin, err := makeChain(t, delegation.NewInitializer(f))
			must.Succeed(t, err)
			err = plugin.Validate(t.Context(), c.attributes, nil)
			if (f.asked > 0) != c.asked {
				t.Fatalf("asked %d times, want it asked: %v", f.asked, c.asked)
			}
			if !c.asked {
				if err != nil {
					t.Errorf("not asked, and refused: %v", err)
				}
				return
			}
			if f.after != after || f.before != c.before {
				t.Errorf("asked about %v and %v", f.before, f.after)
			}
			if err != error(refused) {
				t.Errorf("%v, want the Decider's error unchanged", err)
			}
			f.err, f.rule = nil, `zone example.org., pattern "*"`
			if err := plugin.Validate(t.Context(), c.attributes, nil); err != nil {
				t.Errorf("allowed, and refused: %v", err)
			}
			if got := annotationsOf(c.attributes)["delegation.kubi.zone/rule"]; got != f.rule {
				t.Errorf("audit annotation %q", got)
			}
			// A write that conflicted with another write is validated again, and another rule allows it now.
			f.rule = `zone example.org., pattern "www"`
			if err := plugin.Validate(t.Context(), c.attributes, nil); err != nil {
				t.Errorf("the second time: %v", err)
			}
			if got := annotationsOf(c.attributes)["delegation.kubi.zone/rule"]; got != `zone example.org., pattern "*"` {
				t.Errorf("audit annotation %q after the second time, want the first", got)
			}
		})
	}
}

func TestValidate_withoutARuleWritesNoAnnotation(t *testing.T) {
	plugin := must.Get(makeChain(t, delegation.NewInitializer(&fake{})))(t)
	a := makeAttributes(admission.Create, "records", "", nil, store.Record("team-a", "www", "www.example.org.", "A", "192.0.2.1"))
	if err := plugin.Validate(t.Context(), a, nil); err != nil || len(annotationsOf(a)) != 0 {
		t.Errorf("%v, annotations %v", err, annotationsOf(a))
	}
}

func TestNew_needsADecider(t *testing.T) {
	if _, err := makeChain(t); err == nil {
		t.Error("a plugin that cannot decide is accepted")
	}
}

// The admission plugin refuses a write early, before the ledger decides it in its transaction. If the ledger is the
// plugin's Decider, users get the same message from both, word for word. An admitted write gets the deciding rule as an
// audit annotation.
func TestValidate_refusesAsTheWriteDoes_S2_2(t *testing.T) {
	s := store.New(t).Server()
	store.Must(s.CreateZone(store.Zone("platform", "example-org", "example.org.", store.Allow("team-a", "*.dev"))))
	plugin := must.Get(makeChain(t, delegation.NewInitializer(s.Ledger)))(t)
	www := store.Record("team-a", "www", "www.example.org.", "A", "192.0.2.1")
	early := plugin.Validate(t.Context(), makeAttributes(admission.Create, "records", "", nil, www), nil)
	want := `records.kubi.zone "www" is forbidden: zone example.org. does not delegate A at www.example.org. to namespace "team-a" (S4.1; its owner can add a delegation with pattern "www")`
	if early == nil || early.Error() != want || !apierrors.IsForbidden(early) {
		t.Errorf("got  %v\nwant %s", early, want)
	}
	if _, late := s.CreateRecord(s.Ctx, www); late == nil || late.Error() != want {
		t.Errorf("the write says %v", late)
	}
	allowed := makeAttributes(admission.Create, "records", "", nil, store.Record("team-a", "www", "www.dev.example.org.", "A", "192.0.2.1"))
	if err := plugin.Validate(t.Context(), allowed, nil); err != nil {
		t.Error(err)
	}
	if got := annotationsOf(allowed)[delegation.AnnotationRule]; got != `zone example.org., pattern "*.dev"` {
		t.Errorf("audit annotation %q", got)
	}
}
