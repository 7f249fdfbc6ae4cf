"""What a browser or another program talks to: the page for reviewers and the serving API."""
