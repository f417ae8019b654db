// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package authorization

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	authorizationcel "k8s.io/apiserver/pkg/authorization/cel"
	"k8s.io/apiserver/pkg/authorization/path"
	"k8s.io/apiserver/pkg/authorization/union"
	"k8s.io/apiserver/plugin/pkg/authorizer/webhook"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
)

// Config configures an authorizer that asks kube-apiserver by SubjectAccessReviews.
type Config struct {
	// Client has the rate limit and timeout of reviews.
	Client authorizationclient.AuthorizationV1Interface
	// AllowCacheTTL and DenyCacheTTL limit the age of cached answers. With 0, every request is reviewed.
	AllowCacheTTL, DenyCacheTTL time.Duration
	// RetryBackoff has the delays between tries of a failed review. Steps, the number of tries, is at least 1.
	RetryBackoff wait.Backoff
	// AlwaysAllowGroups are allowed every request without a review.
	AlwaysAllowGroups []string
	// AlwaysAllowPaths are open to every user, for example "/healthz" or "/livez/*", where * covers all paths below.
	AlwaysAllowPaths []string
	// InEveryNamespace selects requests that need a right in all namespaces, beyond a Role. Nil selects none.
	InEveryNamespace func(authorizer.Attributes) bool
	// AskByName reviews the named object at once. Otherwise the first review is for all objects, because the answer can
	// be cached for all names. Set AskByName if an authorizer denies single names.
	AskByName bool
}

// Validate returns all faults of the configuration, joined.
func (c *Config) Validate() error {
	var wrong []error
	if c.Client == nil {
		wrong = append(wrong, errors.New("authorization: Client is required: without it no user outside AlwaysAllowGroups could be "+
			"allowed anything"))
	}
	if c.AllowCacheTTL < 0 || c.DenyCacheTTL < 0 {
		wrong = append(wrong, fmt.Errorf("authorization: AllowCacheTTL %v and DenyCacheTTL %v must not be negative (0: ask every time)",
			c.AllowCacheTTL, c.DenyCacheTTL))
	}
	if c.RetryBackoff.Steps < 1 {
		wrong = append(wrong, fmt.Errorf("authorization: RetryBackoff.Steps is %d and must be at least 1: with 0 no review is ever sent",
			c.RetryBackoff.Steps))
	}
	return errors.Join(wrong...)
}

// New returns an authorizer that allows AlwaysAllowGroups and AlwaysAllowPaths by itself, and asks kube-apiserver about
// other requests.
func New(config Config) (authorizer.Authorizer, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	// Deny if a review fails. With NoOpinion, a later authorizer could allow the request.
	reviews, err := webhook.NewFromInterface(config.Client, config.AllowCacheTTL, config.DenyCacheTTL, config.RetryBackoff,
		authorizer.DecisionDeny, authorizerfactory.NewDelegatingAuthorizerMetrics(), authorizationcel.NewDefaultCompiler())
	if err != nil {
		return nil, fmt.Errorf("authorization: %w", err)
	}

	// The first authorizer with an opinion decides, so groups and paths come before reviews.
	var chain []union.NamedAuthorizer
	if len(config.AlwaysAllowGroups) > 0 {
		chain = append(chain, union.NamedAuthorizer{
			AuthorizerName: "kubernetes.io/always-allow-groups",
			Authorizer:     authorizerfactory.NewPrivilegedGroups(config.AlwaysAllowGroups...),
		})
	}
	if len(config.AlwaysAllowPaths) > 0 {
		open, err := path.NewAuthorizer(config.AlwaysAllowPaths)
		if err != nil {
			return nil, fmt.Errorf("authorization: AlwaysAllowPaths: %w", err)
		}
		chain = append(chain, union.NamedAuthorizer{AuthorizerName: "kubernetes.io/always-allow-paths", Authorizer: open})
	}
	var delegated authorizer.Authorizer = reviews
	// A user who may get all records costs a single review instead of a review for each name.
	if !config.AskByName {
		delegated = broadFirst{reviews}
	}
	// Outermost, so that the reviews below see the request without its namespace.
	if config.InEveryNamespace != nil {
		delegated = clusterWide{delegated, config.InEveryNamespace}
	}
	return union.New(append(chain, union.NamedAuthorizer{AuthorizerName: "kubernetes.io/webhook", Authorizer: delegated})...)
}

type clusterWide struct {
	authorizer.Authorizer
	picks func(authorizer.Attributes) bool
}

func (c clusterWide) Authorize(ctx context.Context, asked authorizer.Attributes) (authorizer.Decision, string, error) {
	if !c.picks(asked) {
		return c.Authorizer.Authorize(ctx, asked)
	}
	decision, reason, err := c.Authorizer.Authorize(ctx, everyNamespace{asked})
	if decision != authorizer.DecisionAllow && err == nil {
		reason = "a right in one namespace is not enough for it: bind a ClusterRole by a ClusterRoleBinding"
	}
	return decision, reason, err
}

func (c clusterWide) ConditionsAwareAuthorize(ctx context.Context, asked authorizer.Attributes) authorizer.ConditionsAwareDecision {
	return authorizer.ConditionsAwareDecisionFromParts(c.Authorize(ctx, asked))
}

type everyNamespace struct {
	authorizer.Attributes
}

func (everyNamespace) GetNamespace() string { return "" }

// broadFirst asks about all objects first, because an Allow is then cached for all.
type broadFirst struct {
	authorizer.UnconditionalAuthorizer
}

var _ authorizer.Authorizer = broadFirst{}

func (b broadFirst) Authorize(ctx context.Context, asked authorizer.Attributes) (authorizer.Decision, string, error) {
	if !narrow(asked) {
		return b.UnconditionalAuthorizer.Authorize(ctx, asked)
	}
	decision, reason, err := b.UnconditionalAuthorizer.Authorize(ctx, everyName{asked})
	if decision == authorizer.DecisionAllow || err != nil {
		return decision, reason, err
	}
	return b.UnconditionalAuthorizer.Authorize(ctx, asked)
}

func (b broadFirst) ConditionsAwareAuthorize(ctx context.Context, asked authorizer.Attributes) authorizer.ConditionsAwareDecision {
	return authorizer.ConditionsAwareDecisionFromParts(b.Authorize(ctx, asked))
}

func (broadFirst) EvaluateConditions(context.Context, authorizer.ConditionsAwareDecision, authorizer.ConditionsData) (authorizer.Decision,
	string, error) {
	return authorizer.DecisionDeny, "", authorizer.ErrorConditionEvaluationNotSupported
}

func narrow(asked authorizer.Attributes) bool {
	if !asked.IsResourceRequest() {
		return false
	}
	byField, _ := asked.GetFieldSelector()
	byLabel, _ := asked.GetLabelSelector()
	return asked.GetName() != "" || len(byField) > 0 || len(byLabel) > 0
}

type everyName struct {
	authorizer.Attributes
}

func (everyName) GetName() string { return "" }

// GetPath drops the path, which contains the name.
func (everyName) GetPath() string { return "" }

func (everyName) GetFieldSelector() (fields.Requirements, error) { return nil, nil }

func (everyName) GetLabelSelector() (labels.Requirements, error) { return nil, nil }
