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

// PluginName is what --disable-admission-plugins and the admission configuration call it.
const PluginName = "KubizoneDelegation"

// AnnotationRule is the key in the audit event; the value is like `zone example.org., pattern "*.dev"`.
const AnnotationRule = "delegation.kubi.zone/rule"

// Decider says before a write what would come of it.
type Decider interface {
	// EarlyRecord returns the delegation that allows the record, "" when there is none or it cannot tell without
	// reading. The error is the API error that the write would be refused with, and holds at the moment it is
	// returned; whatever is in doubt is no error. before is nil for a creation. Neither object is changed.
	EarlyRecord(ctx context.Context, before, after *v1alpha1.Record) (rule string, err error)
}

// WantsDecider is a plugin that is given the Decider.
type WantsDecider interface {
	SetDecider(Decider)
	admission.InitializationValidator
}

// Register makes the plugin known under its name.
func Register(plugins *admission.Plugins) {
	plugins.Register(PluginName, func(io.Reader) (admission.Interface, error) { return New(), nil })
}

// NewInitializer gives decider to every plugin that wants one.
func NewInitializer(decider Decider) admission.PluginInitializer { return initializer{decider} }

type initializer struct{ decider Decider }

func (i initializer) Initialize(plugin admission.Interface) {
	if wants, ok := plugin.(WantsDecider); ok {
		wants.SetDecider(i.decider)
	}
}

// Plugin is the validating plugin.
type Plugin struct {
	*admission.Handler
	decider Decider
}

var (
	_ admission.ValidationInterface = (*Plugin)(nil)
	_ WantsDecider                  = (*Plugin)(nil)
)

// New makes the plugin; it needs a Decider.
func New() *Plugin {
	return &Plugin{Handler: admission.NewHandler(admission.Create, admission.Update)}
}

// SetDecider is called by the initializer.
func (p *Plugin) SetDecider(decider Decider) { p.decider = decider }

// ValidateInitialization says what the plugin has not been given.
func (p *Plugin) ValidateInitialization() error {
	if p.decider == nil {
		return errors.New(PluginName + " has no Decider: pass delegation.NewInitializer to the admission options")
	}
	return nil
}

// Validate refuses what the Decider refuses, and annotates the audit event.
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
	// An update that lost a race is validated again, maybe by another rule; the event keeps the first.
	if err := a.AddAnnotation(AnnotationRule, rule); err != nil {
		klog.FromContext(ctx).V(4).Info("audit annotation not written", "key", AnnotationRule, "why", err.Error())
	}
	return nil
}
