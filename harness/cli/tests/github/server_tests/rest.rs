//! What works, and what is a violation.

use insta::assert_snapshot;
use serde_json::json;

use super::{COMMENTS, Client, REPO, comment, head_sha, post};
use crate::server::fault::Matcher;
use crate::server::state::{ChangedFile, User, zip_of};
use crate::server::{Server, events};

#[test]
fn comments_live_and_die_on_one_connection() {
    let server = Server::start();
    let mut client = Client::of(&server);
    let created = post(&mut client, COMMENTS, &comment("first"));
    assert_eq!(created.status, 201);
    let json = created.json();
    assert_eq!(json["user"]["login"], "github-actions[bot]");
    assert_eq!(json["user"]["type"], "Bot");
    let path = format!("{REPO}/issues/comments/{}", json["id"]);
    assert_eq!(json["url"], format!("{}{path}", server.url()));

    let updated = client.send("PATCH", &path, Some(&comment("second")));
    assert_eq!(
        (updated.status, &updated.json()["body"]),
        (200, &json!("second"))
    );
    assert_ne!(updated.json()["updated_at"], json["updated_at"]);
    assert_eq!(client.get(COMMENTS).json()[0]["body"], "second");
    assert_eq!(client.send("DELETE", &path, None).status, 204);
    let gone = client.send("PATCH", &path, Some(&comment("third")));
    assert_eq!(gone.said(), "404 Not Found");
    assert_eq!(gone.json()["status"], "404");
    assert_eq!(client.get(COMMENTS).json(), json!([]));

    let log: Vec<_> = server
        .requests()
        .iter()
        .map(|request| request.line())
        .collect();
    assert_snapshot!(log.join("\n"), @"
    POST /repos/octo/demo/issues/7/comments 201
    PATCH /repos/octo/demo/issues/comments/5000000001 200
    GET /repos/octo/demo/issues/7/comments 200
    DELETE /repos/octo/demo/issues/comments/5000000001 204
    PATCH /repos/octo/demo/issues/comments/5000000001 404
    GET /repos/octo/demo/issues/7/comments 200
    ");
    assert_eq!(server.requests()[1].body, comment("second"));
    assert_eq!(server.requests()[1].header("user-agent"), Some("tests"));
    server.assert_clean();
}

#[test]
fn pages_by_link() {
    for prefix in ["", "/api/v3"] {
        let server = Server::at(prefix);
        server.state().with_foreign_comments(250);
        let mut client = Client::of(&server);
        let first = client.get(&format!("{prefix}{COMMENTS}?per_page=100"));
        let base = format!(
            "{}/repositories/123456/issues/7/comments?per_page=100",
            server.url()
        );
        let expected = format!("<{base}&page=2>; rel=\"next\", <{base}&page=3>; rel=\"last\"");
        assert_eq!(first.header("link"), Some(expected.as_str()));

        let host = format!("http://{}", server.address());
        let mut answer = first;
        let mut bodies = Vec::new();
        loop {
            let page = answer.json();
            bodies.extend(
                page.as_array()
                    .unwrap()
                    .iter()
                    .map(|one| one["body"].clone()),
            );
            let Some(next) = answer.link("next") else {
                break;
            };
            answer = client.get(next.strip_prefix(&host).unwrap());
        }
        assert_eq!(bodies.len(), 250);
        assert_eq!(bodies[249], "comment 250 of a person");
        assert_eq!(answer.link("prev"), Some(format!("{base}&page=2")));
        assert_eq!(answer.link("first"), Some(format!("{base}&page=1")));
        let second = &server.requests()[1];
        assert_eq!(
            second.path,
            format!("{prefix}/repositories/123456/issues/7/comments")
        );
        assert_eq!(second.query[1], ("page".to_owned(), "2".to_owned()));
        server.assert_clean();

        // Thirty unless asked, a hundred at most, nothing after the last.
        let count = |client: &mut Client, query: &str| {
            let page = client.get(&format!("{prefix}{COMMENTS}{query}"));
            page.json().as_array().unwrap().len()
        };
        assert_eq!(count(&mut client, ""), 30);
        assert_eq!(count(&mut client, "?per_page=1000"), 100);
        assert_eq!(count(&mut client, "?page=99"), 0);
    }
}

#[test]
fn comments_of_others() {
    let server = Server::start();
    server
        .state()
        .with_ghost_comment()
        .with_forged_comment("<!-- plimsoll:v1 key=x -->");
    let comments = Client::of(&server).get(COMMENTS).json();
    assert_eq!(comments[0]["user"], json!(null));
    assert_eq!(comments[1]["user"]["type"], "User");
    assert_eq!(comments[1]["body"], "<!-- plimsoll:v1 key=x -->");
    server.assert_clean();
}

#[test]
fn checks_add_their_annotations_up() {
    let server = Server::start();
    let sha = head_sha(&server);
    let mut client = Client::of(&server);
    let annotation = json!({
        "path": "src/lib.rs",
        "start_line": 3,
        "end_line": 3,
        "annotation_level": "warning",
        "message": "grows",
    });
    let output = |count: usize| json!({"title": "t", "summary": "s", "annotations": vec![annotation.clone(); count]});
    let body = json!({
        "name": "leaks",
        "head_sha": sha,
        "status": "completed",
        "conclusion": "failure",
        "output": output(50),
    });
    let created = post(&mut client, &format!("{REPO}/check-runs"), &body);
    assert_eq!(created.status, 201);
    let path = format!("{REPO}/check-runs/{}", created.json()["id"]);
    let more = json!({"conclusion": "failure", "output": output(7)});
    let updated = client.send("PATCH", &path, Some(&more)).json();
    assert_eq!(updated["output"]["annotations_count"], 57);
    assert_eq!(updated["output"]["title"], "t");

    let found = client
        .get(&format!("{REPO}/commits/{sha}/check-runs?check_name=leaks"))
        .json();
    assert_eq!(found["total_count"], 1);
    assert_eq!(found["check_runs"][0]["pull_requests"][0]["number"], 7);
    let none = client
        .get(&format!("{REPO}/commits/{sha}/check-runs?check_name=other"))
        .json();
    assert_eq!(none["total_count"], 0);
    server.assert_clean();
}

#[test]
fn pulls_and_their_files() {
    let server = Server::start();
    {
        let mut state = server.state();
        let fork = state.repository.forked("carol");
        state.with_pull(9, fork, "fix").pull(7).files = vec![
            ChangedFile::modified("baselines/a.toml"),
            ChangedFile::renamed("src/old name.rs", "src/new name.rs"),
        ];
    }
    let mut client = Client::of(&server);
    let mut numbers = |query: &str| {
        let list = client.get(&format!("{REPO}/pulls{query}")).json();
        let numbers = list
            .as_array()
            .unwrap()
            .iter()
            .map(|pull| pull["number"].to_string());
        numbers.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(numbers(""), "9 7");
    assert_eq!(numbers("?state=open&head=carol:fix"), "9");
    assert_eq!(numbers("?head=carol%3Afix&direction=asc"), "9");
    assert_eq!(numbers("?head=octo:fix"), "");
    // Without an owner it filters nothing, as on GitHub.
    assert_eq!(numbers("?head=fix&sort=created&direction=asc"), "7 9");
    assert_eq!(numbers("?base=other"), "");
    server.state().pull(9).open = false;
    server.state().pull(9).merged = true;
    assert_eq!(numbers(""), "7");
    assert_eq!(numbers("?state=closed"), "9");
    assert_eq!(numbers("?state=all"), "9 7");

    let nine = client.get(&format!("{REPO}/pulls/9")).json();
    assert_eq!(nine["head"]["repo"]["full_name"], "carol/demo");
    assert_eq!(nine["base"]["repo"]["full_name"], "octo/demo");
    assert_eq!(nine["merged"], true);
    server.state().pull(9).head.repository = None;
    let nine = client.get(&format!("{REPO}/pulls/9")).json();
    assert_eq!(nine["head"]["repo"], json!(null));
    assert_eq!(
        client.get(&format!("{REPO}/pulls/8")).said(),
        "404 Not Found"
    );

    let files = client.get(&format!("{REPO}/pulls/7/files")).json();
    assert_eq!(files[1]["previous_filename"], "src/old name.rs");
    assert_eq!(files[1]["status"], "renamed");
    server.assert_clean();
}

#[test]
fn a_commit_does_not_know_its_forks_pull_request() {
    let server = Server::start();
    let fork = server.state().repository.forked("carol");
    let sha = {
        let mut state = server.state();
        state.with_pull(9, fork, "fix").pull(9).head.sha.clone()
    };
    let mut client = Client::of(&server);
    assert_eq!(
        client.get(&format!("{REPO}/commits/{sha}/pulls")).json(),
        json!([])
    );
    let own = client
        .get(&format!("{REPO}/commits/{}/pulls", head_sha(&server)))
        .json();
    assert_eq!(own[0]["number"], 7);
    server.assert_clean();
}

#[test]
fn artifacts_lie_elsewhere_and_the_token_stays_here() {
    let server = Server::start();
    let zip = zip_of(&[("report.json", b"{}")]);
    let run = {
        let mut state = server.state();
        let run = state.add_run(7);
        state.add_artifact(run, "plimsoll-report-1", zip.clone());
        let other = state.add_artifact(run, "other", Vec::new());
        state.artifacts.get_mut(&other).unwrap().expired = true;
        run
    };
    let mut client = Client::of(&server);
    let json = client.get(&format!("{REPO}/actions/runs/{run}")).json();
    assert_eq!(
        (&json["run_attempt"], &json["event"]),
        (&json!(1), &json!("pull_request"))
    );
    let list = format!("{REPO}/actions/runs/{run}/artifacts");
    assert_eq!(client.get(&list).json()["total_count"], 2);
    let named = client
        .get(&format!("{list}?name=plimsoll-report-1&per_page=100"))
        .json();
    assert_eq!(named["artifacts"][0]["size_in_bytes"], zip.len());

    let path = |id: &serde_json::Value| format!("{REPO}/actions/artifacts/{id}/zip");
    let redirected = client.get(&path(&named["artifacts"][0]["id"]));
    assert_eq!((redirected.status, redirected.body.len()), (302, 0));
    let location = redirected
        .header("location")
        .unwrap()
        .strip_prefix("http://")
        .unwrap();
    let (host, target) = location.split_at(location.find('/').unwrap());
    let mut storage = Client::to(host.parse().unwrap());
    assert_eq!(
        storage.exchange("GET", target, &[], None).unwrap().body,
        zip
    );
    assert_eq!(
        storage
            .exchange("GET", "/storage/1", &[], None)
            .unwrap()
            .status,
        404
    );
    server.assert_clean();

    // A client that takes its token along is told, and so is its test.
    assert_eq!(storage.get(target).status, 400);
    assert_eq!(
        server.storage_requests()[2].header("authorization"),
        Some("Bearer ghs_token")
    );
    assert_snapshot!(server.violations().join("\n"), @"/storage/5000000002: the token went to the storage");

    let expired = client.get(&format!("{list}?name=other")).json();
    let expired = client.get(&path(&expired["artifacts"][0]["id"]));
    assert_eq!(expired.said(), "410 Artifact has expired");
}

#[test]
fn a_file_on_an_orphan_branch() {
    let server = Server::start();
    let mut client = Client::of(&server);
    let mut made = |path: &str, body| {
        let answer = post(&mut client, &format!("{REPO}/git/{path}"), &body);
        assert_eq!(answer.status, 201, "{}", answer.said());
        answer.json()["sha"].as_str().unwrap_or_default().to_owned()
    };
    let blob = made(
        "blobs",
        json!({"content": "PHN2Zy8+", "encoding": "base64"}),
    );
    let entry = json!({"path": "7/a.svg", "mode": "100644", "type": "blob", "sha": blob});
    let tree = made("trees", json!({"tree": [entry]}));
    let first = made(
        "commits",
        json!({"message": "images", "tree": tree, "parents": []}),
    );
    made(
        "refs",
        json!({"ref": "refs/heads/plimsoll-images/7", "sha": first}),
    );
    assert_eq!(
        server
            .state()
            .file("refs/heads/plimsoll-images/7", "7/a.svg"),
        Some(&b"<svg/>"[..])
    );
    let text = json!({"path": "b.svg", "mode": "100644", "type": "blob", "content": "b"});
    let tree = made("trees", json!({"base_tree": tree, "tree": [text]}));
    let second = made(
        "commits",
        json!({"message": "more", "tree": tree, "parents": [first]}),
    );

    let at = format!("{REPO}/git/refs/heads/plimsoll-images/7");
    let update = |client: &mut Client, body| client.send("PATCH", &at, Some(&body));
    assert_eq!(update(&mut client, json!({"sha": second})).status, 200);
    let back = update(&mut client, json!({"sha": first}));
    assert_eq!(back.said(), "422 Update is not a fast forward");
    assert_eq!(
        update(&mut client, json!({"sha": first, "force": true})).status,
        200
    );

    let read = client
        .get(&format!("{REPO}/git/ref/heads/plimsoll-images/7"))
        .json();
    assert_eq!(read["object"]["sha"], first);
    let matching = client
        .get(&format!("{REPO}/git/matching-refs/heads/plimsoll-"))
        .json();
    assert_eq!(matching[0]["ref"], "refs/heads/plimsoll-images/7");
    assert_eq!(client.send("DELETE", &at, None).status, 204);
    assert_eq!(
        client.send("DELETE", &at, None).said(),
        "422 Reference does not exist"
    );
    let gone = update(&mut client, json!({"sha": first}));
    assert_eq!(gone.said(), "422 Reference does not exist");
    let gone = client.get(&format!("{REPO}/git/ref/heads/plimsoll-images/7"));
    assert_eq!(gone.said(), "404 Not Found");
    server.assert_clean();
}

#[test]
fn what_the_description_does_not_know_is_a_violation() {
    let server = Server::start();
    let id = server.state().add_comment(7, "ours", Some(User::actions()));
    let mut client = Client::of(&server);
    let path = format!("{REPO}/issues/comments/{id}");
    // What octocrab's typed method sends.
    assert_eq!(
        post(&mut client, &path, &comment("new")).said(),
        "404 Not Found"
    );
    client.get("/user");
    client.get(&format!(
        "{COMMENTS}?per_page=ten&sort=created&page=1&page=2"
    ));
    client.get(&format!("{REPO}/issues/seven/comments"));
    client.get(&format!("{REPO}/pulls?state=opened"));
    assert_eq!(post(&mut client, COMMENTS, &json!({"body": 5})).status, 422);
    assert_eq!(post(&mut client, COMMENTS, &json!({})).status, 422);
    assert_eq!(
        post(&mut client, COMMENTS, &json!({"body": "b", "boby": "b"})).status,
        201
    );
    assert_eq!(client.send("POST", COMMENTS, None).status, 422);
    client.send("DELETE", &path, Some(&json!({})));
    let broken = format!(
        "POST {COMMENTS} HTTP/1.1\r\nUser-Agent: t\r\nAccept: */*\r\nAuthorization: token ghs_token\r\n\
         Content-Length: 1\r\n\r\n{{"
    );
    assert_eq!(
        client.raw(broken.as_bytes()).unwrap().said(),
        "400 Problems parsing JSON"
    );
    assert_snapshot!(server.violations().join("\n"), @r#"
    POST /repos/octo/demo/issues/comments/5000000001: expected one of ["delete", "patch"] at this path
    GET /user: no such path in the description
    GET /repos/octo/demo/issues/7/comments?per_page=ten&sort=created&page=1&page=2: parameter per_page: "ten" is not of type "integer"
    GET /repos/octo/demo/issues/7/comments?per_page=ten&sort=created&page=1&page=2: parameter page: given 2 times
    GET /repos/octo/demo/issues/7/comments?per_page=ten&sort=created&page=1&page=2: parameter sort: unknown
    GET /repos/octo/demo/issues/seven/comments: parameter issue_number: "seven" is not of type "integer"
    GET /repos/octo/demo/pulls?state=opened: parameter state: "opened" is not one of "open", "closed" or "all"
    POST /repos/octo/demo/issues/7/comments: /body: 5 is not of type "string"
    POST /repos/octo/demo/issues/7/comments: "body" is a required property
    POST /repos/octo/demo/issues/7/comments: /boby: unknown
    POST /repos/octo/demo/issues/7/comments: no body
    DELETE /repos/octo/demo/issues/comments/5000000001: a body, where none is described
    POST /repos/octo/demo/issues/7/comments: header accept: expected "application/vnd.github+json", found "*/*"
    POST /repos/octo/demo/issues/7/comments: a body that is not JSON: EOF while parsing an object at line 1 column 1
    "#);
    assert_eq!(server.self_violations(), [""; 0]);
}

#[test]
fn bodies_in_chunks() {
    let server = Server::start();
    let mut client = Client::of(&server);
    let text = format!(
        "POST {COMMENTS} HTTP/1.1\r\nUser-Agent: t\r\nAccept: application/vnd.github+json\r\n\
         Authorization: Bearer ghs_token\r\nContent-Type: application/json\r\n\
         Transfer-Encoding: chunked\r\n\r\n8\r\n{{\"body\":\r\n5;x=y\r\n\"two\"\r\n1\r\n}}\r\n0\r\n\r\n"
    );
    assert_eq!(client.raw(text.as_bytes()).unwrap().json()["body"], "two");
    assert_eq!(client.get(COMMENTS).json()[0]["body"], "two");
    server.assert_clean();
}

#[test]
fn a_repository_that_was_renamed() {
    let server = Server::start();
    server.state().former.insert("octo/before".to_owned());
    let mut client = Client::of(&server);
    let get = client.get("/repos/octo/before/pulls?state=all");
    let at = format!("{}/repositories/123456", server.url());
    assert_eq!(get.status, 301);
    assert_eq!(
        get.header("location"),
        Some(format!("{at}/pulls?state=all").as_str())
    );
    let write = post(
        &mut client,
        "/repos/octo/before/issues/7/comments",
        &comment("x"),
    );
    assert_eq!(write.status, 307);
    assert_eq!(
        write.header("location"),
        Some(format!("{at}/issues/7/comments").as_str())
    );
    let there = post(
        &mut client,
        "/repositories/123456/issues/7/comments",
        &comment("x"),
    );
    assert_eq!(there.status, 201);
    assert_eq!(
        client.get("/repositories/123456").json()["full_name"],
        "octo/demo"
    );
    assert_eq!(client.get("/repositories/2").said(), "404 Not Found");
    assert_eq!(
        server.violations(),
        ["GET /repositories/2: no such path in the description"]
    );
}

#[test]
fn a_test_can_step_in() {
    let server = Server::start();
    let id = server.state().add_comment(7, "ours", Some(User::actions()));
    // Deleted by a person between the list and the update.
    server.on_request(
        Matcher::new("PATCH", "/issues/comments/"),
        move |state, request| {
            assert_eq!(request.body["body"], "new");
            state.comments.remove(&id);
        },
    );
    let mut client = Client::of(&server);
    assert_eq!(client.get(COMMENTS).json()[0]["id"], id);
    let path = format!("{REPO}/issues/comments/{id}");
    assert_eq!(
        client.send("PATCH", &path, Some(&comment("new"))).said(),
        "404 Not Found"
    );
    server.assert_clean();
}

#[test]
fn events_agree_with_the_state() {
    let server = Server::start();
    let mut state = server.state();
    let fork = state.repository.forked("carol");
    state.with_pull(9, fork, "fix");
    let (own, forked) = (state.add_run(7), state.add_run(9));

    let event = events::pull_request(&state, 9, "synchronize");
    let pull = &event["pull_request"];
    assert_eq!(event["after"], pull["head"]["sha"]);
    assert_ne!(pull["head"]["repo"]["id"], pull["base"]["repo"]["id"]);
    assert_eq!(event["repository"]["full_name"], "octo/demo");
    assert_eq!(event["sender"]["login"], "carol");
    assert_eq!(events::pull_request(&state, 7, "opened").get("after"), None);

    let event = events::workflow_run(&state, own, "completed");
    assert_eq!(event["workflow_run"]["pull_requests"][0]["number"], 7);
    let event = events::workflow_run(&state, forked, "completed");
    let run = &event["workflow_run"];
    assert_eq!(run["pull_requests"], json!([]));
    assert_eq!(run["head_repository"]["owner"]["login"], "carol");
    assert_eq!(run["head_sha"], state.pulls[&9].head.sha);
    assert_eq!(
        (&run["id"], &run["run_attempt"]),
        (&json!(forked), &json!(1))
    );

    let event = events::merge_group(&state, 7);
    assert_eq!(event["merge_group"]["base_sha"], state.pulls[&7].base.sha);
    assert!(
        event["merge_group"]["head_ref"]
            .as_str()
            .unwrap()
            .contains("/pr-7-")
    );

    let event = events::push(&state, "main");
    assert_eq!(event["after"], state.git.refs["refs/heads/main"]);
    assert_eq!(
        (&event["ref"], &event["created"]),
        (&json!("refs/heads/main"), &json!(true))
    );
    assert_eq!(event["organization"]["login"], "octo");
}
