// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package review is the command kubectl kubizone review, for a CI job. It writes a branch's effect on zones into a
// comment of the pull request, and fails the job if a file is wrong or the branch removes too much.
//
// Guarantees:
//
//	W1. A pull request has a single comment per name, which later runs change. It is found by first line and author,
//	    so comments of other authors never change.
//	W2. Texts of files and of the server are only code in the comment: no mention, link, HTML or command. The comment
//	    has at most the forge's size, and names omissions.
//	W3. Requests and waiting are bounded, and the token goes only to the forge's API.
//	W4. Exit code 1 means that a file is wrong, or that the server or the gate (limits of removals) refuses; 2 that
//	    this is unknown, or the comment could not be written. A fork's token without the right to write is no failure.
//
// Read first: review.go, gate.go, comment.go, forge.go.
package review
