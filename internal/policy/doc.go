// Package policy decides who may do what: it reads documents in the IAM JSON policy language and evaluates them against
// requests. It is pure: no clock, no I/O, no randomness.
//
// # Documents
//
// Parse compiles an identity policy, ParseTrust the trust policy of a role. Both refuse every part that they do not
// know: an element, an operator, a condition key, a variable, or a pattern of actions that matches none. AWS ignores
// many of these; a Deny statement that is ignored is a hole that nobody sees. ParseLenient reads documents that were
// written for other services. It lists the parts that it does not know, and never makes a document allow more: an Allow
// statement with an unknown part other than an action is dropped, a Deny statement loses the condition that it cannot
// check.
//
// # Evaluation
//
// A Deny statement that matches denies. Otherwise an Allow statement that matches allows. Otherwise the request is
// denied. A statement matches if its actions, its resources and all its conditions do.
//
//   - Actions: "*" and "?" stand for any characters, in any place; case does not matter.
//   - Resources: "*" alone matches every request, also one that names no resource (Request.Resource is "*"). An ARN
//     matches field by field, with wildcards in each field; in the sixth field they match "/" and ":" too. An empty
//     region or account in the ARN of the request matches any in the policy, because GameLift's ARNs of game sessions
//     have no account.
//   - Conditions: all must hold. Of several values in the policy one must match; with a negated operator none may.
//     Without a prefix, one value of the request must match, or with a negated operator none of them. A key that the
//     request lacks, or that has no values, fails a condition, unless the operator is negated and has no prefix, ends
//     with IfExists, or has the prefix ForAllValues.
//   - Variables need Version 2012-10-17. A value with a variable whose key the request lacks, or has several times,
//     matches nothing. The text that replaces a variable has no wildcards.
//
// Sources: IAM User Guide, "IAM JSON policy element reference" and "Policy evaluation logic"; Service Authorization
// Reference, "Actions, resources, and condition keys for Amazon GameLift Servers".
//
// # Resources of operations
//
// Members names the members of an operation's input that say on which resources it acts.
package policy
