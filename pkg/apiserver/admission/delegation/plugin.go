// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"context"
	"errors"
	"io"

	"k8s.io/apiserver/pkg/admission"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

const PluginName = "KubizoneDelegation"

// AnnotationRule is the audit annotation of the rule, such as `zone example.org., pattern "*.dev"`.
const AnnotationRule = "delegation.kubi.zone/rule"

// Decider predicts whether the ledger, the layer that stores writes, will allow a write of a Record.
type Decider interface {
	// EarlyRecord decides the change of a Record from before to after. For a creation, before is nil.
	//
	//   - If a rule of the zone allows the write, rule names it, for example `zone example.org., pattern "*.dev"`.
	//   - If the rules forbid the write, err is the write's 403 error.
	//   - Otherwise both are empty, for example if the cache may be out of date: the ledger alone decides.
	EarlyRecord(ctx context.Context, before, after *v1alpha1.Record) (rule string, err error)
}

type WantsDecider interface {
	SetDecider(Decider)
	admission.InitializationValidator
}

func Register(plugins *admission.Plugins) {
	plugins.Register(PluginName, func(io.Reader) (admission.Interface, error) { return New(), nil })
}

func NewInitializer(decider Decider) admission.PluginInitializer { return initializer{decider} }

type initializer struct{ decider Decider }

func (i initializer) Initialize(plugin admission.Interface) {
	if wants, ok := plugin.(WantsDecider); ok {
		wants.SetDecider(i.decider)
	}
}

type Plugin struct {
	*admission.Handler
	decider Decider
}

var (
	_ admission.ValidationInterface = (*Plugin)(nil)
	_ WantsDecider                  = (*Plugin)(nil)
)

func New() *Plugin {
	return &Plugin{Handler: admission.NewHandler(admission.Create, admission.Update)}
}

func (p *Plugin) SetDecider(decider Decider) { p.decider = decider }

func (p *Plugin) ValidateInitialization() error {
	if p.decider == nil {
		return errors.New(PluginName + " has no Decider: pass delegation.NewInitializer to the admission options")
	}
	return nil
}

// Validate refuses a Record early, before the ledger's decision at the commit, if no rule of the zone allows the write.
// Otherwise the audit event gets the allowing rule, as the annotation AnnotationRule.
func (p *Plugin) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetResource().GroupResource() != v1alpha1.Resource("records") || a.GetSubresource() != "" {
		return nil
	}
	after, ok := a.GetObject().(*v1alpha1.Record)
	if !ok {
		return nil
	}
	before, _ := a.GetOldObject().(*v1alpha1.Record)
	rule, err := p.decider.EarlyRecord(ctx, before, after)
	if err != nil || rule == "" {
		return err
	}
	// A retry of the write may pass by another rule. Then AddAnnotation fails, and the event keeps the first rule.
	if err := a.AddAnnotation(AnnotationRule, rule); err != nil {
		klog.FromContext(ctx).V(4).Info("audit annotation not written", "key", AnnotationRule, "why", err.Error())
	}
	return nil
}
